/*
 * sink, one event loop: there is one writer, so that lines cannot mix and no
 * lock is needed, and the lines of many clients go out in one write. But while
 * the output is full the whole loop waits for it, and with it every client.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	CLIENTS = 65536,	/* a guess: a higher descriptor is dropped */
	EVENTS = 256,
	LINE_BYTES = 4096,	/* the longest line with its LF */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static int loop;
static char batch[65536];		/* the whole lines of this turn */
static size_t filled;			/* bytes of batch */
static char carry[CLIENTS][LINE_BYTES];	/* lines that have begun */
static uint16_t carried[CLIENTS];	/* bytes of carry */
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
		if (client >= CLIENTS || watch(EPOLL_CTL_ADD, client, EPOLLIN))
			close(client);	/* no memory: drop it, keep serving */
	return errno == EAGAIN;
}

/* A step of a client: batches whole lines, carries a line that has begun. */
static void
serve(int client)
{
	size_t len = carried[client];
	char *lf, *text;
	ssize_t more;

	if (sizeof batch - filled < 2 * LINE_BYTES)
		write_batch();
	text = batch + filled;
	memcpy(text, carry[client], len);
	more = read(client, text + len, sizeof batch - filled - len);
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
	if (more <= 0 || len >= LINE_BYTES) {
		write_batch();	/* before the close, which says so */
		carried[client] = 0;
		close(client);
		return;
	}
	memcpy(carry[client], text, len);
	carried[client] = (uint16_t)len;
}

int
main(int argc, char *argv[])
{
	struct epoll_event events[EVENTS];
	bool waiting = false;	/* do clients wait for a descriptor? */
	int count, listener;

	if (argc < 2)
		errx(1, "usage: sink port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, stop);
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
		write_batch();
		if (waiting)	/* an edge-triggered listener tells once */
			waiting = !welcome(listener);
	}
}
