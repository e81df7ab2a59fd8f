/*
 * sink, one libev loop: there is one writer, so that lines cannot mix and no
 * lock is needed, and the lines of one turn of the loop go out in one write, by
 * a prepare watcher. While the output is full the whole loop waits for it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <ev.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };	/* the longest line with its LF */

struct client {
	ev_io	input;		/* first: libev calls back with its address */
	size_t	len;
	char	*line;		/* one that has begun, or NULL */
};

static const double retry_s = .1;	/* a guess: till a descriptor is free */
static char batch[65536];		/* the whole lines of this turn */
static size_t filled;			/* bytes of batch */
static ev_io listener;
static ev_timer rest;
static volatile sig_atomic_t stopping, writing;

/* Ends the server. A write that is under way has a second to end its lines. */
static void
stop(int sig)
{
	if (!writing || sig == SIGALRM)
		_exit(0);
	stopping = 1;
	alarm(1);
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
write_batch(void)
{
	size_t done = 0;
	ssize_t written;

	writing = 1;
	while (done < filled) {
		written = write(STDOUT_FILENO, batch + done, filled - done);
		if (written > 0)
			done += (size_t)written;
		else if (errno == EAGAIN)
			poll(&(struct pollfd){ 1, POLLOUT, 0 }, 1, -1);
		else if (errno != EINTR)
			err(1, "standard output");
	}
	filled = 0;
	writing = 0;
	if (stopping)
		_exit(0);
}

static void
end_turn(struct ev_loop *loop, ev_prepare *turn, int events)
{
	(void)loop;
	(void)turn;
	(void)events;
	write_batch();
}

static void
hang_up(struct ev_loop *loop, struct client *client)
{
	write_batch();	/* before the close, which says so */
	ev_io_stop(loop, &client->input);
	close(client->input.fd);
	free(client->line);
	free(client);
}

/* A step of a client: batches whole lines, carries a line that has begun. */
static void
serve(struct ev_loop *loop, ev_io *io, int events)
{
	struct client *client = (struct client *)io;
	size_t len = client->len;
	char *lf, *text;
	ssize_t more;

	(void)events;
	if (sizeof batch - filled < 2 * LINE_BYTES)
		write_batch();
	text = batch + filled;
	if (len > 0)
		memcpy(text, client->line, len);
	more = read(io->fd, text + len, sizeof batch - filled - len);
	if (more == -1 && errno == EAGAIN)
		return;
	if (more > 0)
		len += (size_t)more;
	else if (more == 0 && len > 0)
		text[len++] = '\n';	/* the last line has none */
	for (; (lf = memchr(text, '\n', len < LINE_BYTES ? len : LINE_BYTES));
	    text = lf + 1)
		len -= (size_t)(lf + 1 - text);
	filled = (size_t)(text - batch);
	if (len > 0 && client->line == NULL)
		client->line = malloc(LINE_BYTES);
	if (more <= 0 || len >= LINE_BYTES || (len > 0 && !client->line)) {
		hang_up(loop, client);
		return;
	}
	if (len > 0)
		memcpy(client->line, text, len);
	client->len = len;
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
	ev_prepare turn;

	if (argc < 2)
		errx(1, "usage: sink port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, stop);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	loop = ev_default_loop(EVFLAG_AUTO);
	if (loop == NULL)
		errx(1, "libev finds no way to wait for events");
	ev_prepare_init(&turn, end_turn);
	ev_prepare_start(loop, &turn);
	ev_timer_init(&rest, end_rest, 0., 0.);
	ev_io_init(&listener, welcome, listen_on(argc > 2 ? argv[2] :
	    "127.0.0.1", argv[1]), EV_READ);
	ev_io_start(loop, &listener);
	fputs("ready\n", stderr);
	ev_run(loop, 0);
	return 1;
}
