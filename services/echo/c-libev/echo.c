/*
 * echo, one libev loop: a watcher for each client has the event to wait for and
 * the function to call. It runs on epoll, kqueue or poll alike, and has timers;
 * an idle client costs some hundred bytes, and each event a callback.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <ev.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chunk {
	ssize_t	len;
	char	bytes[65536];	/* a guess: one read empties most sockets */
};

struct client {
	ev_io	input;		/* first: libev calls back with its address */
	struct chunk *late;	/* the full socket did not take it; or NULL */
};

static const double retry_s = .1;	/* a guess: till a descriptor is free */
static struct chunk fresh;		/* read in this step */
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
 * A step of a client: writes its late bytes, or else those that it sends now.
 * Bytes that the socket does not take are late. Until they are written, nothing
 * more is read.
 */
static void
serve(struct ev_loop *loop, ev_io *io, int events)
{
	struct client *client = (struct client *)io;
	struct chunk *chunk = client->late != NULL ? client->late : &fresh;
	ssize_t sent = -1;

	(void)events;
	if (chunk == &fresh)
		fresh.len = read(io->fd, fresh.bytes, sizeof fresh.bytes);
	if (chunk->len > 0)
		sent = write(io->fd, chunk->bytes, (size_t)chunk->len);
	if (chunk->len == 0 || (sent == -1 && errno != EAGAIN))
		goto hang_up;
	if (sent > 0 && (chunk->len -= sent) > 0)
		memmove(chunk->bytes, chunk->bytes + sent, (size_t)chunk->len);
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
		errx(1, "usage: echo port [host]");
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
