/*
 * echo, one event loop: a single thread serves each client when epoll says
 * that it is ready. No stack and no switch for a client, and an idle one costs
 * eight bytes; but the program is cut into steps and uses one core.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
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

static int loop;
static struct chunk fresh;		/* read in this step */
static struct chunk *late[CLIENTS];	/* bytes that a full socket did not take */

static void
stop(int sig)
{
	(void)sig;
	_exit(0);
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

int
main(int argc, char *argv[])
{
	struct epoll_event events[EVENTS];
	bool waiting = false;	/* do clients wait for a descriptor? */
	int count, listener;

	if (argc < 2)
		errx(1, "usage: echo port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	loop = epoll_create1(0);
	if (watch(EPOLL_CTL_ADD, listener, EPOLLIN | EPOLLET))
		err(1, "epoll");
	fputs("ready\n", stderr);
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
