/*
 * stream, one event loop: a client that looks on is 80 bytes and a place in a
 * timing wheel of milliseconds, which comes to it once a second. No stack, no
 * timer and no buffer for a client; but the program is cut into steps, and one
 * core does all of it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

enum {
	TURN_MS = 1000,		/* of the wheel: the time between two chunks */
	EVENTS = 64,		/* a guess: taken at once, in about a millisecond, */
	ACCEPTS = 64,		/* and accepts; chunks wait meanwhile */
	LATE = 1024,		/* a guess: of each, when chunks are late already */
	WHILE_MS = 5,		/* a guess: more than a server in time ever takes */
	LATE_BYTES = 4096,	/* a guess: sent at once after a standstill */
	REST_MS = 100,		/* a guess: how soon a descriptor comes free */
	HEAD_S = 10,		/* for a head to come, by the contract */
	LEAVE_S = 2,		/* a guess: for a refused client to read why */
};

enum phase { ASKS, LOOKS_ON, LEAVES };

struct client {
	LIST_ENTRY(client) beside;	/* others of its millisecond */
	char	*kept;		/* the head so far, later the ID */
	int	 fd;
	uint32_t since_ms;	/* when the phase began */
	uint32_t seconds;	/* since then; the number of its last chunk, too */
	uint16_t len;		/* of `kept` */
	uint8_t	 phase;
	bool	 coded;
};

LIST_HEAD(slot, client);

static int listener;		/* shared by all threads */
static int tables = 1;		/* that may still be begun; the newest thread's */
static sigset_t outside;	/* the signals that are blocked while it waits */

/* Each thread has these. There is one, unless several tables are asked for. */
static _Thread_local struct slot wheel[TURN_MS];
static _Thread_local int64_t now_ms;
static _Thread_local int64_t at_ms;		/* where the wheel is */
static _Thread_local int64_t rest_until_ms;	/* no accept before; 0: none is put off */
static _Thread_local int loop;
static _Thread_local bool newest = true;	/* of the threads */

static void
stop(int sig)
{
	(void)sig;
	_exit(0);
}

/* Signals are taken while the server waits. One that never waits looks for them. */
static void
end_if_told(void)
{
	static _Thread_local int64_t look_ms;
	sigset_t told;

	if (now_ms < look_ms)
		return;
	look_ms = now_ms + REST_MS;
	if (sigpending(&told) == 0 && (sigismember(&told, SIGTERM) == 1 ||
	    sigismember(&told, SIGINT) == 1))
		_exit(0);
}

static bool
late(void)
{
	return now_ms - at_ms > WHILE_MS;
}

static int64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int
listen_on(const char *host, const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int number = atoi(port), on = 1;

	addr.sin_port = htons((uint16_t)number);
	if (number < 1 || number > 65535 ||
	    inet_pton(AF_INET, host, &addr.sin_addr) != 1)
		errx(1, "%s port %s: not an address", host, port);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof addr) ||
	    listen(fd, INT_MAX))	/* as long as the kernel allows */
		err(1, "%s port %s", host, port);
	return fd;	/* clients inherit TCP_NODELAY */
}

static int
watch(int how, int fd, uint32_t events, void *whose)
{
	struct epoll_event event = { .events = events, .data.ptr = whose };

	return epoll_ctl(loop, how, fd, &event);
}

/*
 * A phase of a client begins. The wheel comes to it a second later and each second
 * from then on. Its time is rounded up, so that nothing is sent before it is due.
 */
static void
begin(struct client *client, enum phase phase)
{
	int64_t ms = clock_ns() / 1000000 + 1;

	client->phase = (uint8_t)phase;
	client->since_ms = (uint32_t)ms;
	client->seconds = 0;
	LIST_INSERT_HEAD(&wheel[ms % TURN_MS], client, beside);
}

static void
hang_up(struct client *client)
{
	LIST_REMOVE(client, beside);
	close(client->fd);
	free(client->kept);
	free(client);
	if (rest_until_ms != 0)		/* there is a descriptor now */
		rest_until_ms = now_ms;
}

/*
 * Sends all bytes. False: the socket did not take them. Such a client has not read
 * for so long that it has lost interest.
 */
static bool
say(const struct client *client, const char *bytes, size_t len)
{
	return send(client->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/*
 * Sends the last bytes and leaves. For a while, the client's bytes are read: close
 * with unread bytes is a reset, which may overtake the answer.
 */
static void
leave(struct client *client, const char *last, size_t len)
{
	if (!say(client, last, len) || shutdown(client->fd, SHUT_WR)) {
		hang_up(client);
		return;
	}
	free(client->kept);
	client->kept = NULL;
	LIST_REMOVE(client, beside);
	begin(client, LEAVES);
}

static void
refuse(struct client *client, int status)
{
	char said[SAID_BYTES];

	leave(client, said, http_refuse(said, status));
}

/* Answers a head that is whole. The client's place in the wheel is that moment. */
static void
answer(struct client *client, const char *head, size_t len)
{
	struct request request;
	char said[SAID_BYTES], *id;
	int status = http_parse(head, len, &request);

	if (status != 200) {
		refuse(client, status);
		return;
	}
	len = http_greet(said, &request);
	if (request.bare) {
		leave(client, said, len);
		return;
	}
	if ((id = malloc(request.len)) == NULL || !say(client, said, len) ||
	    watch(EPOLL_CTL_MOD, client->fd, EPOLLRDHUP, client)) {	/* its end alone */
		free(id);
		hang_up(client);
		return;
	}
	memcpy(id, request.id, request.len);
	free(client->kept);
	client->kept = id;
	client->len = (uint16_t)request.len;
	client->coded = request.coded;
	LIST_REMOVE(client, beside);
	begin(client, LOOKS_ON);
}

/*
 * Reads of a head. Most come in one piece, so only the pieces of the others are
 * kept.
 */
static void
hear(struct client *client)
{
	static _Thread_local char head[HEAD_BYTES + 1];
	size_t len = client->len, end;
	ssize_t got;
	char *more;

	if (client->phase == LEAVES)
		len = 0;
	else if (len > 0)
		memcpy(head, client->kept, len);
	got = read(client->fd, head + len, sizeof head - len);
	if (got == 0 || (got == -1 && errno != EAGAIN)) {
		hang_up(client);
		return;
	}
	if (got == -1 || client->phase == LEAVES)
		return;
	end = http_end(head, len + (size_t)got, len);
	len += (size_t)got;
	if (end > 0)
		answer(client, head, end);
	else if (len > HEAD_BYTES)
		refuse(client, 431);
	else if ((more = realloc(client->kept, len)) == NULL)
		hang_up(client);
	else {
		client->kept = memcpy(more, head, len);
		client->len = (uint16_t)len;
	}
}

/* Whether its next second has passed. Differences survive a wrap of 32 bits. */
static bool
due(const struct client *client)
{
	return (int32_t)((uint32_t)now_ms - client->since_ms -
	    (client->seconds + 1) * TURN_MS) >= 0;
}

/* Sends what is due: one chunk, or after a standstill several at once. */
static void
stream(struct client *client)
{
	char said[LATE_BYTES];
	size_t len = 0;

	while (due(client) && len < sizeof said - SAID_BYTES)
		len += http_chunk(said + len, client->coded, ++client->seconds,
		    client->kept, client->len);
	if (len > 0 && !say(client, said, len))
		hang_up(client);
}

static void
meet(struct client *client)
{
	if (client->phase == LOOKS_ON)
		stream(client);
	else if (!due(client))
		return;		/* it has just come to this place */
	else if (++client->seconds == HEAD_S)
		refuse(client, 408);
	else if (client->phase == LEAVES && client->seconds == LEAVE_S)
		hang_up(client);
}

/*
 * Turns the wheel up to now, but only for a while: a server that is late must
 * still see new clients. After a standstill one turn is enough, since it comes to
 * each client.
 */
static void
turn(void)
{
	struct client *client, *next;
	int64_t until_ms;

	now_ms = clock_ns() / 1000000;
	until_ms = now_ms + WHILE_MS;
	if (now_ms - at_ms > 2 * TURN_MS)
		at_ms += (now_ms - at_ms) / TURN_MS * TURN_MS - TURN_MS;
	while (at_ms < now_ms && clock_ns() / 1000000 < until_ms) {
		at_ms++;
		for (client = LIST_FIRST(&wheel[at_ms % TURN_MS]); client != NULL;
		    client = next) {
			next = LIST_NEXT(client, beside);
			meet(client);
		}
	}
	if (rest_until_ms != 0 && rest_until_ms <= now_ms) {
		rest_until_ms = 0;
		watch(EPOLL_CTL_MOD, listener, EPOLLIN, NULL);
	}
}

static void	*another(void *);

/*
 * The limit of open files bounds a table of descriptors, and a process may have a
 * table for each thread. A thread that has filled its own starts another one. It
 * accepts again when it has room.
 */
static void
hand_on(void)
{
	pthread_t thread;

	if (!newest || tables <= 1)
		return;
	tables--;
	if (pthread_create(&thread, NULL, another, NULL) == 0) {
		pthread_detach(thread);
		newest = false;
	} else
		tables++;
}

static void
welcome(void)
{
	struct client *client;
	int fd, i, most = late() ? LATE : ACCEPTS;

	for (i = 0; i < most; i++) {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd == -1 && (errno == EAGAIN || errno == ECONNABORTED ||
		    errno == EINTR))
			return;
		client = fd == -1 ? NULL : calloc(1, sizeof *client);
		if (client == NULL || watch(EPOLL_CTL_ADD, fd, EPOLLIN, client)) {
			/* No descriptor, or no memory: serve those that are in. */
			if (fd == -1 && errno == EMFILE)
				hand_on();
			free(client);
			if (fd != -1)
				close(fd);
			rest_until_ms = now_ms + REST_MS;
			watch(EPOLL_CTL_MOD, listener, 0, NULL);
			return;
		}
		client->fd = fd;
		begin(client, ASKS);
	}
}

/* Returns the time until something is due; NULL if nothing is. */
static struct timespec *
pause_for(struct timespec *wait)
{
	int64_t due_ms = 0, ns;
	int i;

	for (i = 1; due_ms == 0 && i <= TURN_MS; i++)
		if (!LIST_EMPTY(&wheel[(at_ms + i) % TURN_MS]))
			due_ms = at_ms + i;
	if (rest_until_ms != 0 && (due_ms == 0 || due_ms > rest_until_ms))
		due_ms = rest_until_ms;
	if (due_ms == 0)
		return NULL;
	ns = due_ms * 1000000 - clock_ns();
	if (ns < 0)
		ns = 0;
	*wait = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return wait;
}

static int
open_loop(void)
{
	at_ms = now_ms = clock_ns() / 1000000;
	loop = epoll_create1(EPOLL_CLOEXEC);
	return loop == -1 ? -1 : watch(EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
}

static void
serve(void)
{
	struct epoll_event events[LATE];
	struct timespec wait;
	int i, count;

	for (;;) {
		count = epoll_pwait2(loop, events, late() ? LATE : EVENTS,
		    pause_for(&wait), &outside);
		for (i = 0; i < count; i++)
			if (events[i].data.ptr == NULL)
				welcome();
			else if (events[i].events & EPOLLIN)
				hear(events[i].data.ptr);
			else
				hang_up(events[i].data.ptr);
		turn();		/* after the events: it may free a client of one */
		end_if_told();
	}
}

/*
 * A thread with a table of descriptors of its own. That holds the listener, which
 * is the lowest that the first thread opened, and those below it.
 */
static void *
another(void *nothing)
{
	if (close_range((unsigned)listener + 1, UINT_MAX,
	    CLOSE_RANGE_UNSHARE) || open_loop())
		warn("another table of descriptors");	/* the others go on */
	else
		serve();
	return nothing;
}

int
main(int argc, char *argv[])
{
	struct rlimit files;
	sigset_t ends;

	if (argc < 2 || (argc > 3 && (tables = atoi(argv[3])) < 1))
		errx(1, "usage: stream port [host [tables]]");
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &outside);	/* but while it waits */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	if (open_loop())
		err(1, "epoll");
	fputs("ready\n", stderr);
	serve();
}
