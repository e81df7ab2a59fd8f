/*
 * The clients as main sees them: each is two processes and a socket to each. No
 * process of a client can hold main up: messages that SEND has no room for wait
 * in a queue, and when that is full the client ends.
 */
#include "daemon.h"
#include "main.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	QUEUE_BYTES = HELD_BYTES + (1 << 16),
	OWN_FDS = 32,		/* a guess: of main itself, and of a start */
	REFUSED_READS = 16,	/* of half a KiB, a guess: a registration is shorter */
	SPARE_SHARE = 64,	/* of all places: of 4,096 as many as a turn accepts */
};

struct client *clients;
struct scratch *scratch;
int alive_read, alive_write;

static uint32_t client_total, client_most;
static uint32_t client_spare;	/* kept free of clients that do not register */

void
client_init(void)
{
	struct rlimit limit = { 0, 0 };
	int pair[2];
	uint32_t i;

	/* A client takes two descriptors, which bounds how many can be served. */
	client_most = MAX_CLIENTS;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < OWN_FDS + 2 * MAX_CLIENTS)
		client_most = limit.rlim_cur > OWN_FDS ?
		    (uint32_t)(limit.rlim_cur - OWN_FDS) / 2 : 0;
	client_spare = client_most / SPARE_SHARE + 1;
	clients = os_table(MAX_CLIENTS * sizeof *clients);
	scratch = os_table(sizeof *scratch);
	for (i = 0; i < MAX_CLIENTS; i++)
		clients[i].recv_fd = clients[i].send_fd = -1;
	if (pipe(pair) == -1 || fcntl(pair[0], F_SETFD, FD_CLOEXEC) == -1 ||
	    fcntl(pair[1], F_SETFD, FD_CLOEXEC) == -1)
		err(1, "pipe");
	alive_read = pair[0];
	alive_write = pair[1];
}

uint32_t
client_slot(const struct client *c)
{
	return (uint32_t)(c - clients);
}

uint32_t
client_count(void)
{
	return client_total;
}

/* Writes an address as a word of IRC, which may not begin with a colon. */
static void
host_of(const struct sockaddr *address, char *host)
{
	const void *at = &((const struct sockaddr_in *)address)->sin_addr;

	host[0] = '0';
	if (address->sa_family == AF_INET6)
		at = &((const struct sockaddr_in6 *)address)->sin6_addr;
	if (inet_ntop(address->sa_family, at, host + 1, HOST_BYTES - 1) == NULL)
		(void)copy(host, HOST_BYTES, "unknown", 7);
	else if (host[1] != ':')
		memmove(host, host + 1, strlen(host));
}

/* Gives the descriptors of a new RECV their numbers and closes all others. */
static void
arrange(const int *have)
{
	int moved[FD_FREE], i;

	for (i = FD_CLIENT; i < FD_FREE; i++)
		if ((moved[i] = fcntl(have[i], F_DUPFD, FD_FREE)) == -1)
			_exit(1);
	for (i = FD_CLIENT; i < FD_FREE; i++)
		if (dup2(moved[i], i) == -1)
			_exit(1);
	os_close_from(FD_FREE);
}

static bool
start_processes(struct client *c, int fd, const int *recv_pair,
    const int *send_pair)
{
	int have[FD_FREE];
	pid_t parent = getpid(), pid;

	have[FD_CLIENT] = fd;
	have[FD_MAIN] = recv_pair[1];
	have[FD_SEND] = send_pair[0];
	have[FD_NEWS] = send_pair[1];
	have[FD_ALIVE] = alive_read;
	self.slot = client_slot(c);	/* a child cannot look at *c */
	self.register_by_ms = c->end_by_ms;
	(void)copy(self.host, sizeof self.host, c->host, strlen(c->host));
	switch (pid = os_fork()) {
	case -1:
		return false;
	case 0:
		arrange(have);
		recv_main(parent);
	}
	c->recv_pid = pid;
	return true;
}

static struct client *
free_client(void)
{
	uint32_t i;

	for (i = 0; i < MAX_CLIENTS; i++)
		if (clients[i].stage == STAGE_FREE)
			return &clients[i];
	errno = ENOSPC;
	return NULL;
}

/* Clears a slot of its last client. */
static void
slot_reset(uint32_t number)
{
	struct slot *s = &shared->slots[number];

	memset(s, 0, sizeof *s);
	atomic_store(&s->heard_s, (uint32_t)(os_clock_ms() / 1000));
	if (number >= atomic_load(&shared->clients))
		atomic_store(&shared->clients, number + 1);
}

/* Tells a client why it is refused; the caller then closes the connection. Bytes
 * of the client are read first: close with unread bytes is a reset, and a reset
 * may overtake the reason. */
static void
refuse(int fd, const char *why)
{
	char line[LINE_BYTES];
	int len = snprintf(line, sizeof line, "ERROR :%s\r\n", why), i;

	if (len > 0 && (size_t)len < sizeof line)
		(void)send(fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
	for (i = 0; i < REFUSED_READS; i++)
		if (recv(fd, line, sizeof line, MSG_DONTWAIT) <= 0)
			break;
}

static void
refuse_for_want(int fd, int error)
{
	static uint64_t told_ms;
	uint64_t now = os_clock_ms();

	refuse(fd, "There is no room left");
	if (now - told_ms >= STALL_MS)	/* one line for a flood of them */
		complain("a client was sent away: %s", strerror(error));
	told_ms = now;
}

static void
refuse_for_origin(int fd, const char *from)
{
	char why[LINE_BYTES / 2];

	(void)snprintf(why, sizeof why, "Closing link: too many connections from %s",
	    from);
	refuse(fd, why);
}

/* Frees a slot, and lowers shared->clients: watermark() looks at all below it. */
static void
free_slot(struct client *c)
{
	uint32_t count = atomic_load(&shared->clients);

	memset(c, 0, sizeof *c);
	c->recv_fd = c->send_fd = -1;
	client_total--;
	while (count > 0 && clients[count - 1].stage == STAGE_FREE)
		count--;
	atomic_store(&shared->clients, count);
}

static void
hang_up(struct client *c)
{
	(void)close(c->recv_fd);
	free_slot(c);
}

/* When places run out, the oldest client that has not registered is ended. Else a
 * few thousand silent clients would keep all others out. Its processes take a
 * moment to end; until then spare places are used. */
static void
make_place(void)
{
	static const char why[] = "Closing link: others want in, and it has not registered";
	uint32_t i, count = atomic_load(&shared->clients);
	struct client *c, *first = NULL;

	for (i = 0; i < count; i++) {
		c = &clients[i];
		if ((c->stage == STAGE_CALLING ||
		    (c->stage == STAGE_NEW && c->end_by_ms == 0)) &&
		    (first == NULL || c->call < first->call))
			first = c;
	}
	if (first == NULL)
		return;
	if (first->stage == STAGE_NEW) {
		client_end(first, why, STOP_MS);
		return;
	}
	refuse(first->recv_fd, why);
	hang_up(first);
}

/* Takes a connection, which costs a descriptor until its client says something. */
void
client_call(int fd, const struct sockaddr *address)
{
	static uint64_t calls;
	char from[ORIGIN_BYTES];
	struct client *c;

	if (!origin_admits(address, from)) {
		refuse_for_origin(fd, from);
		(void)close(fd);
		return;
	}
	if (client_total + client_spare >= client_most)
		make_place();
	c = client_total < client_most ? free_client() : NULL;
	if (c == NULL) {
		refuse_for_want(fd, ENOSPC);
		(void)close(fd);
		return;
	}
	memset(c, 0, sizeof *c);
	host_of(address, c->host);
	c->origin = origin_of(address);
	slot_reset(client_slot(c));
	c->recv_fd = fd;
	c->send_fd = -1;
	c->person = c->renamed_from = NOBODY;
	c->end_by_ms = os_clock_ms() + REGISTER_S * 1000;
	c->call = ++calls;
	c->stage = STAGE_CALLING;
	client_total++;
}

/* The client has said something: starts two processes, which own the connection
 * from here on. False with errno: a resource has run out. */
static bool
start(struct client *c)
{
	int recv_pair[2] = { -1, -1 }, send_pair[2] = { -1, -1 };
	bool good = false;
	int i, error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, recv_pair) == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, send_pair) == 0)
		good = start_processes(c, c->recv_fd, recv_pair, send_pair);
	error = errno;
	for (i = good ? 1 : 0; i < 2; i++) {
		if (recv_pair[i] != -1)
			(void)close(recv_pair[i]);
		if (send_pair[i] != -1)
			(void)close(send_pair[i]);
	}
	errno = error;
	if (!good)
		return false;
	(void)close(c->recv_fd);
	c->recv_fd = recv_pair[0];
	c->send_fd = send_pair[0];
	c->stage = STAGE_NEW;
	c->end_by_ms = 0;
	return true;
}

/* What recv(2) says of the first byte that a client has sent and nobody has read. */
static ssize_t
first_byte(const struct client *c)
{
	char byte;

	return recv(c->recv_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

/* The first bytes of a client have come, or its end. A client that connects and
 * goes costs no process. On a busy machine the bytes may have waited for long, so
 * the client has some time from here on. */
void
client_answer(struct client *c)
{
	uint64_t least = os_clock_ms() + FIRST_S * 1000;
	ssize_t got = first_byte(c);

	if (got > 0 && c->end_by_ms < least)
		c->end_by_ms = least;
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0 && start(c))
		return;
	if (got > 0)
		refuse_for_want(c->recv_fd, errno);
	hang_up(c);
}

/* Kills both processes. The rest is done when RECV's socket is at its end. */
void
client_kill(struct client *c)
{
	if (c->recv_pid > 0)
		(void)kill(c->recv_pid, SIGKILL);
	if (c->stage == STAGE_CALLING)
		hang_up(c);
	else if (c->send_pid > 0)
		(void)kill(c->send_pid, SIGKILL);
}

static void
enqueue(struct client *c, const struct message *m)
{
	size_t len = (MESSAGE_HEAD + m->len + 7) & ~(size_t)7;

	if (c->queue == NULL && (c->queue = os_pages(QUEUE_BYTES)) == NULL) {
		complain("a client was ended: %s", strerror(errno));
		client_kill(c);
		return;
	}
	if (c->queue_tail + len > QUEUE_BYTES && c->queue_head > 0) {
		memmove(c->queue, c->queue + c->queue_head,
		    c->queue_tail - c->queue_head);
		c->queue_tail -= c->queue_head;
		c->queue_head = 0;
	}
	if (c->queue_tail + len > QUEUE_BYTES) {
		client_kill(c);	/* SEND is stopped, or far too slow */
		return;
	}
	memcpy(c->queue + c->queue_tail, m, MESSAGE_HEAD + m->len);
	c->queue_tail += len;
	atomic_store(&shared->slots[client_slot(c)].behind, 1);
}

/* Sends a message to SEND, now or when it has room for it; none after END. */
void
client_post(struct client *c, struct message *m)
{
	if (c->send_fd == -1 || c->end_by_ms != 0)
		return;
	if (c->queue_head < c->queue_tail ||
	    message_send(c->send_fd, m, false) == EAGAIN)
		enqueue(c, m);
}

void
client_flush(struct client *c)
{
	struct message *m;
	int error = 0;

	while (c->queue_head < c->queue_tail && error != EAGAIN) {
		m = (struct message *)(void *)(c->queue + c->queue_head);
		error = message_send(c->send_fd, m, false);
		if (error != EAGAIN)
			c->queue_head += (MESSAGE_HEAD + m->len + 7) & ~(size_t)7;
	}
	if (c->queue_head == c->queue_tail)
		client_unqueue(c);
}

/* Empties the queue. */
void
client_unqueue(struct client *c)
{
	c->queue_head = c->queue_tail = 0;
	atomic_store(&shared->slots[client_slot(c)].behind, 0);
	if (c->queue != NULL)
		(void)munmap(c->queue, QUEUE_BYTES);
	c->queue = NULL;
}

/* Ends a client within so many ms: after all lines for it, and the reason. */
void
client_end(struct client *c, const char *why, int limit_ms)
{
	struct message *m = &scratch->end;

	message_start(m, M_END);
	m->value = (uint32_t)limit_ms;
	tell(c, m, "ERROR :%s", why);
	client_post(c, m);
	c->end_by_ms = os_clock_ms() + (uint64_t)limit_ms + STALL_MS;
}

/* RECV is gone. SEND is killed if it has not ended. */
void
client_remove(struct client *c)
{
	if (c->send_pid > 0)
		(void)kill(c->send_pid, SIGKILL);
	(void)close(c->recv_fd);
	(void)close(c->send_fd);
	client_unqueue(c);
	free_slot(c);
}

/* A process that keeps a lock from one tick to the next has been stopped (SIGSTOP),
 * and all others wait for it. It is continued, until it has no lock. */
static void
watch(struct client *c)
{
	struct slot *s = &shared->slots[client_slot(c)];
	uint32_t now[2] = { atomic_load(&s->recv_lock),
	    atomic_load(&s->send_lock) };
	pid_t pid[2] = { c->recv_pid, c->send_pid };
	int i;

	for (i = 0; i < 2; i++) {
		if (now[i] % LOCK_STATES != LOCK_FREE && now[i] == c->locks[i] &&
		    pid[i] > 0)
			(void)kill(pid[i], SIGCONT);
		c->locks[i] = now[i];
	}
}

/* Ends a client that has said nothing in time. It has no SEND that would. */
static void
call_tick(struct client *c, uint64_t now, bool ending)
{
	if (!ending && (now < c->end_by_ms || first_byte(c) > 0))
		return;
	refuse(c->recv_fd, ending ? "Closing link: the server ends" :
	    "Closing link: no registration in time");
	hang_up(c);
}

void
client_tick(bool ending)
{
	uint64_t now = os_clock_ms();
	uint32_t i, count = atomic_load(&shared->clients);

	origin_tick(ending);
	for (i = 0; i < count; i++) {
		if (clients[i].stage == STAGE_FREE)
			continue;
		if (clients[i].stage == STAGE_CALLING) {
			call_tick(&clients[i], now, ending);
			continue;
		}
		watch(&clients[i]);
		if (clients[i].end_by_ms != 0 && now >= clients[i].end_by_ms)
			client_kill(&clients[i]);
		if (ending && clients[i].end_by_ms == 0)
			client_end(&clients[i], "Closing link: the server ends",
			    STOP_MS);
	}
}
