/*
 * counter, a process for each client: processes share nothing unless they ask
 * for it. Here they ask for one page, mapped before the fork, and its atomic
 * counter is all that the clients of this server have in common.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	INCREMENT = 1,		/* the request; 0 reads */
	REQUESTS = 4096,	/* a guess: answered in one write */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static _Atomic uint64_t *counter;	/* in a page that all processes share */

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
	unsigned char requests[REQUESTS];
	uint64_t replies[REQUESTS];
	ssize_t i, len;

	while ((len = read(client, requests, sizeof requests)) > 0) {
		for (i = 0; i < len && requests[i] <= INCREMENT; i++)
			replies[i] = htobe64(requests[i] == INCREMENT ?
			    atomic_fetch_add(counter, 1) + 1 :
			    atomic_load(counter));
		if (!write_all(client, replies, (size_t)i * sizeof *replies) ||
		    i < len)	/* the last byte was no request */
			break;
	}
}

int
main(int argc, char *argv[])
{
	pid_t parent = getpid();
	int client, listener;

	if (argc < 2)
		errx(1, "usage: counter port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, reap);	/* calls restart after a signal: no EINTR */
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counter == MAP_FAILED)
		err(1, "mmap");
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
