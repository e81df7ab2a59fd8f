/*
 * counter, a thread for each client: threads share every variable, and this one
 * is atomic, so that no increment is lost and no thread waits for a lock. The
 * price is that its cache line travels between the cores.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	INCREMENT = 1,		/* the request; 0 reads */
	REQUESTS = 4096,	/* a guess: answered in one write */
	STACK_BYTES = 262144,	/* requests and replies, and room for libc */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static _Atomic uint64_t counter;

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

static bool
write_all(int client, const void *bytes, size_t len)
{
	const char *next = bytes;
	ssize_t sent;

	for (; len > 0; next += sent, len -= (size_t)sent)
		if ((sent = write(client, next, len)) == -1)
			return false;
	return true;
}

static void *
serve(void *arg)
{
	int client = (int)(intptr_t)arg;
	unsigned char requests[REQUESTS];
	uint64_t replies[REQUESTS];
	ssize_t i, len;

	while ((len = read(client, requests, sizeof requests)) > 0) {
		for (i = 0; i < len && requests[i] <= INCREMENT; i++)
			replies[i] = htobe64(requests[i] == INCREMENT ?
			    atomic_fetch_add(&counter, 1) + 1 :
			    atomic_load(&counter));
		if (!write_all(client, replies, (size_t)i * sizeof *replies) ||
		    i < len)	/* the last byte was no request */
			break;
	}
	close(client);
	return NULL;
}

int
main(int argc, char *argv[])
{
	pthread_attr_t attr;
	pthread_t thread;
	intptr_t client;
	int listener;

	if (argc < 2)
		errx(1, "usage: counter port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, stop);	/* no call returns EINTR: this ends them all */
	signal(SIGTERM, stop);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
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
