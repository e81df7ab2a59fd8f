/*
 * sink, a thread for each client: all lines go to one descriptor, and a mutex
 * lets one thread write to it. A slow reader of the output holds up the threads,
 * and full sockets hold up the clients: nothing piles up in between.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE_BYTES = 4096,	/* the longest line with its LF */
	CHUNK_BYTES = 65536,	/* a guess: one read empties most sockets */
	STACK_BYTES = 262144,	/* the chunk, and room for libc */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;	/* to write */

/* Ends the server. A write that is under way has a second to end its lines. */
static void *
stop(void *signals)
{
	struct timespec soon;
	int sig;

	sigwait(signals, &sig);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	pthread_mutex_timedlock(&turn, &soon);
	_exit(0);
}

static int
listen_on(const char *host, const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
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
write_lines(const char *lines, size_t len)
{
	ssize_t written;

	pthread_mutex_lock(&turn);
	while (len > 0) {
		written = write(STDOUT_FILENO, lines, len);
		if (written == -1 && errno == EAGAIN)
			poll(&(struct pollfd){ 1, POLLOUT, 0 }, 1, -1);
		else if (written == -1 && errno != EINTR)
			err(1, "standard output");
		else if (written > 0)
			lines += written, len -= (size_t)written;
	}
	pthread_mutex_unlock(&turn);
}

static void *
serve(void *arg)
{
	int client = (int)(intptr_t)arg;
	char lines[CHUNK_BYTES], *lf, *text;
	size_t len = 0;
	ssize_t more = 0;

	while (len < LINE_BYTES &&
	    (more = read(client, lines + len, sizeof lines - len)) > 0) {
		len += (size_t)more;
		for (text = lines; (lf = memchr(text, '\n',
		    len < LINE_BYTES ? len : LINE_BYTES)); text = lf + 1)
			len -= (size_t)(lf + 1 - text);
		write_lines(lines, (size_t)(text - lines));
		memmove(lines, text, len);
	}
	if (more == 0 && len > 0) {	/* the last line has no LF */
		lines[len++] = '\n';
		write_lines(lines, len);
	}
	close(client);
	return NULL;
}

int
main(int argc, char *argv[])
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t ends;
	intptr_t client;
	int listener;

	if (argc < 2)
		errx(1, "usage: sink port [host]");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, stop, &ends))
		errx(1, "no thread");
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	fputs("ready\n", stderr);
	for (;;) {
		client = accept(listener, NULL, NULL);
		if (client == -1) {	/* descriptors or memory ran out */
			warn("accept");
			poll(NULL, 0, RETRY_MS);
			continue;
		}
		if (pthread_create(&thread, &attr, serve, (void *)client)) {
			warnx("no thread");	/* drop it, keep serving */
			close((int)client);
		}
	}
}
