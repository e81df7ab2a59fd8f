/*
 * echo, a thread for each client: the straight-line program of the process
 * model in one address space, cheaper to start and to switch; but a fault in
 * one is a fault in all. A full socket blocks the thread of that client only.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 65536,	/* a guess: one read empties most sockets */
	STACK_BYTES = 262144,	/* the chunk, and room for libc */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

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
	char chunk[CHUNK_BYTES];
	ssize_t len;

	while ((len = read(client, chunk, sizeof chunk)) > 0)
		if (!write_all(client, chunk, (size_t)len))
			break;
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
		errx(1, "usage: echo port [host]");
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
