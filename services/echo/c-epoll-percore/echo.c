/*
 * echo, an event loop for each core: SO_REUSEPORT gives each a queue of its
 * own, so that loops share nothing and clients never move. But the kernel chooses
 * a loop by a hash of the addresses: a few clients may all be in one.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	CLIENTS = 1 << 20,	/* Linux hands out no higher descriptor */
	EVENTS = 256,
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

struct chunk {
	ssize_t	len;
	char	bytes[65536];	/* a guess: one read empties most sockets */
};

static pthread_barrier_t set_up;
static _Thread_local int loop;
static _Thread_local struct chunk fresh;	/* read in this step */
static _Thread_local struct chunk **late;	/* for full sockets */

/* The first binds without SO_REUSEPORT, so that a port in use is noticed. */
static int
listen_on(const char *host, const char *port, bool first)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int number = atoi(port), on = 1, share = !first;

	addr.sin_port = htons((uint16_t)number);
	if (number < 1 || number > 65535 ||
	    inet_pton(AF_INET, host, &addr.sin_addr) != 1)
		errx(1, "%s port %s: not an address", host, port);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &share, sizeof on) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof addr) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) ||
	    listen(fd, SOMAXCONN))
		err(1, "%s port %s", host, port);
	return fd;	/* clients inherit TCP_NODELAY */
}

static int
watch(int how, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(loop, how, fd, &event);
}

/* Accepts clients; false if some still wait, for want of descriptors. */
static bool
welcome(int listener)
{
	int client;

	while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) != -1)
		if (watch(EPOLL_CTL_ADD, client, EPOLLIN))
			close(client);	/* no memory: drop it, keep serving */
	return errno == EAGAIN;
}

/*
 * A step of a client: writes its late bytes, or else those that it sends now.
 * Bytes that the socket does not take are late. Until they are written, nothing
 * more is read.
 */
static void
serve(int client)
{
	struct chunk *chunk = late[client] != NULL ? late[client] : &fresh;
	ssize_t sent = -1;

	if (chunk == &fresh)
		fresh.len = read(client, fresh.bytes, sizeof fresh.bytes);
	if (chunk->len > 0)
		sent = write(client, chunk->bytes, (size_t)chunk->len);
	if (chunk->len == 0 || (sent == -1 && errno != EAGAIN))
		goto hang_up;
	if (sent > 0 && (chunk->len -= sent) > 0)
		memmove(chunk->bytes, chunk->bytes + sent, (size_t)chunk->len);
	if (chunk == &fresh && chunk->len > 0) {
		if ((late[client] = malloc(sizeof fresh)) == NULL)
			goto hang_up;
		memcpy(late[client], &fresh, sizeof fresh);
		watch(EPOLL_CTL_MOD, client, EPOLLOUT);
	} else if (chunk != &fresh && chunk->len == 0) {
		free(chunk);
		late[client] = NULL;
		watch(EPOLL_CTL_MOD, client, EPOLLIN);
	}
	return;
hang_up:
	free(late[client]);
	late[client] = NULL;
	close(client);
}

static void *
run(void *arg)
{
	struct epoll_event events[EVENTS];
	bool waiting = false;	/* do clients wait for a descriptor? */
	int count, listener = (int)(intptr_t)arg;

	loop = epoll_create1(0);
	late = calloc(CLIENTS, sizeof *late);	/* pages come when touched */
	if (late == NULL || watch(EPOLL_CTL_ADD, listener, EPOLLIN | EPOLLET))
		err(1, "loop");
	pthread_barrier_wait(&set_up);
	for (;;) {
		count = epoll_wait(loop, events, EVENTS,
		    waiting ? RETRY_MS : -1);
		for (int i = 0; i < count; i++)
			if (events[i].data.fd != listener)
				serve(events[i].data.fd);
			else if ((waiting = !welcome(listener)))
				warn("accept");
		if (waiting)	/* an edge-triggered listener tells once */
			waiting = !welcome(listener);
	}
}

int
main(int argc, char *argv[])
{
	cpu_set_t cores;
	pthread_t thread;
	sigset_t ends;
	const char *host = argc > 2 ? argv[2] : "127.0.0.1";
	int sig;

	if (argc < 2)
		errx(1, "usage: echo port [host]");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	if (sched_getaffinity(0, sizeof cores, &cores))
		err(1, "sched_getaffinity");
	pthread_barrier_init(&set_up, NULL, (unsigned)CPU_COUNT(&cores) + 1);
	for (int i = 0; i < CPU_COUNT(&cores); i++)
		if (pthread_create(&thread, NULL, run,
		    (void *)(intptr_t)listen_on(host, argv[1], i == 0)))
			errx(1, "no thread");
	pthread_barrier_wait(&set_up);
	fputs("ready\n", stderr);
	sigwait(&ends, &sig);
	_exit(0);
}
