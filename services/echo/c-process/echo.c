/*
 * echo, a process for each client: each has a straight-line program and an
 * address space of its own and fails alone, for a fork, a page table and a
 * context switch. A full socket blocks the process of that client only.
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 65536,	/* a guess: one read empties most sockets */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static void
stop(int sig)
{
	(void)sig;
	_exit(0);
}

/* Children are waited for, so that the kernel adds their CPU time to ours. */
static void
reap(int sig)
{
	int saved = errno;

	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	errno = saved;
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

static void
serve(int client)
{
	char chunk[CHUNK_BYTES];
	ssize_t len;

	while ((len = read(client, chunk, sizeof chunk)) > 0)
		if (!write_all(client, chunk, (size_t)len))
			break;
}

int
main(int argc, char *argv[])
{
	pid_t parent = getpid();
	int client, listener;

	if (argc < 2)
		errx(1, "usage: echo port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, reap);	/* calls restart after a signal: no EINTR */
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	fputs("ready\n", stderr);
	for (;;) {
		client = accept(listener, NULL, NULL);
		if (client == -1) {	/* descriptors or memory ran out */
			warn("accept");
			poll(NULL, 0, RETRY_MS);
			continue;
		}
		switch (fork()) {
		case -1:
			warn("fork");	/* drop this client, keep serving */
			break;
		case 0:
			close(listener);
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			if (getppid() == parent)	/* it has not died before */
				serve(client);
			_exit(0);
		}
		close(client);
	}
}
