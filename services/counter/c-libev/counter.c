/*
 * counter, one libev loop: only callbacks of this loop can reach the counter,
 * so that it is a plain variable without lock or atomics. The library hides
 * epoll, but one core does all the work.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <ev.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	INCREMENT = 1,		/* the request; 0 reads */
	REQUESTS = 4096,	/* a guess: answered in one write */
};

struct chunk {
	ssize_t	len;		/* in bytes */
	bool	last;		/* the byte after them is no request: hang up */
	uint64_t replies[REQUESTS];
};

struct client {
	ev_io	input;		/* first: libev calls back with its address */
	struct chunk *late;	/* the full socket did not take it; or NULL */
};

static const double retry_s = .1;	/* a guess: till a descriptor is free */
static uint64_t counter;
static struct chunk fresh;		/* the replies of this step */
static ev_io listener;
static ev_timer rest;

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

static void
watch(struct ev_loop *loop, ev_io *io, int events)
{
	ev_io_stop(loop, io);
	ev_io_set(io, io->fd, events);
	ev_io_start(loop, io);
}

/*
 * A step of a client: writes its late replies, or else answers the requests that
 * it sends now. Replies that the socket does not take are late. Until they are
 * written, nothing more is read.
 */
static void
serve(struct ev_loop *loop, ev_io *io, int events)
{
	struct client *client = (struct client *)io;
	struct chunk *chunk = client->late != NULL ? client->late : &fresh;
	unsigned char requests[REQUESTS];
	ssize_t i, len, sent = -1;

	(void)events;
	if (chunk == &fresh) {
		len = read(io->fd, requests, sizeof requests);
		for (i = 0; i < len && requests[i] <= INCREMENT; i++)
			fresh.replies[i] = htobe64(counter += requests[i]);
		fresh.len = len > 0 ? i * (ssize_t)sizeof *fresh.replies : len;
		fresh.last = i < len;
	}
	if (chunk->len > 0)
		sent = write(io->fd, chunk->replies, (size_t)chunk->len);
	if (chunk->len == 0 || (sent == -1 && errno != EAGAIN))
		goto hang_up;
	if (sent > 0 && (chunk->len -= sent) > 0)
		memmove(chunk->replies, (char *)chunk->replies + sent,
		    (size_t)chunk->len);
	if (chunk->len == 0 && chunk->last)
		goto hang_up;
	if (chunk == &fresh && chunk->len > 0) {
		if ((client->late = malloc(sizeof fresh)) == NULL)
			goto hang_up;
		memcpy(client->late, &fresh, sizeof fresh);
		watch(loop, io, EV_WRITE);
	} else if (chunk != &fresh && chunk->len == 0) {
		free(chunk);
		client->late = NULL;
		watch(loop, io, EV_READ);
	}
	return;
hang_up:
	ev_io_stop(loop, io);
	close(io->fd);
	free(client->late);
	free(client);
}

/* Accepts one; if descriptors or memory ran out, rests before the next. */
static void
welcome(struct ev_loop *loop, ev_io *io, int events)
{
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK);
	struct client *client;

	(void)events;
	if (fd == -1 && errno == EAGAIN)
		return;
	client = fd != -1 ? calloc(1, sizeof *client) : NULL;
	if (client == NULL) {
		warn("accept");
		if (fd != -1)
			close(fd);
		ev_io_stop(loop, io);
		ev_timer_set(&rest, retry_s, 0.);
		ev_timer_start(loop, &rest);
		return;
	}
	ev_io_init(&client->input, serve, fd, EV_READ);
	ev_io_start(loop, &client->input);
}

static void
end_rest(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_io_start(loop, &listener);
}

int
main(int argc, char *argv[])
{
	struct ev_loop *loop;

	if (argc < 2)
		errx(1, "usage: counter port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	loop = ev_default_loop(EVFLAG_AUTO);
	if (loop == NULL)
		errx(1, "libev finds no way to wait for events");
	ev_timer_init(&rest, end_rest, 0., 0.);
	ev_io_init(&listener, welcome, listen_on(argc > 2 ? argv[2] :
	    "127.0.0.1", argv[1]), EV_READ);
	ev_io_start(loop, &listener);
	fputs("ready\n", stderr);
	ev_run(loop, 0);
	return 1;
}
