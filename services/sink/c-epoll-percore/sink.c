/*
 * sink, an event loop for each core: each gathers the lines of its clients, and
 * a mutex lets one of them write. The loops share nothing but the output, and
 * its reader sets the pace of all of them.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENTS = 65536,	/* a guess: a higher descriptor is dropped */
	EVENTS = 256,
	LINE_BYTES = 4096,	/* the longest line with its LF */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static pthread_barrier_t set_up;
static _Thread_local int loop;
static _Thread_local char batch[65536];	/* the whole lines of this turn */
static _Thread_local size_t filled;	/* bytes of batch */
static _Thread_local char (*carry)[LINE_BYTES];	/* lines that have begun */
static _Thread_local uint16_t *carried;	/* bytes of carry */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;	/* to write */

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

static void
write_batch(void)
{
	size_t done = 0;
	ssize_t written;

	if (filled == 0)
		return;
	pthread_mutex_lock(&turn);
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
	pthread_mutex_unlock(&turn);
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

static void *
run(void *arg)
{
	struct epoll_event events[EVENTS];
	bool waiting = false;	/* do clients wait for a descriptor? */
	int count, listener = (int)(intptr_t)arg;

	loop = epoll_create1(0);
	carry = calloc(CLIENTS, sizeof *carry);	/* pages come when touched */
	carried = calloc(CLIENTS, sizeof *carried);
	if (carry == NULL || carried == NULL ||
	    watch(EPOLL_CTL_ADD, listener, EPOLLIN | EPOLLET))
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
		write_batch();
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
	struct timespec soon;
	const char *host = argc > 2 ? argv[2] : "127.0.0.1";
	int sig;

	if (argc < 2)
		errx(1, "usage: sink port [host]");
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
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;	/* so long may a write under way take */
	pthread_mutex_timedlock(&turn, &soon);
	_exit(0);
}
