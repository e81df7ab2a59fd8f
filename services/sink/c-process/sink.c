/*
 * sink, a process for each client: processes share no lock, so that the kernel
 * has to keep their lines apart. It does: a write of at most PIPE_BUF bytes to
 * a pipe is never mixed with another, and so no process holds more at a time.
 */
#include <sys/socket.h>
#include <sys/wait.h>
#ifdef __FreeBSD__
#include <sys/procctl.h>
#else
#include <sys/prctl.h>
#endif

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_BYTES = 4096,	/* the longest line with its LF: PIPE_BUF */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static void
stop(int sig)
{
	(void)sig;
	_exit(0);
}

/* A child that cannot write exits with its errno. Then the server ends, too. */
static void
reap(int sig)
{
	int status;

	(void)sig;
	while (waitpid(-1, &status, WNOHANG) > 0)
		if (WIFEXITED(status) && (errno = WEXITSTATUS(status)) != 0)
			err(1, "standard output");
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

/* The kernel ends a child when its parent has died. */
static void
die_with_parent(void)
{
#ifdef __FreeBSD__
	int sig = SIGTERM;

	procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &sig);
#else
	prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
}

static void
write_lines(const char *lines, size_t len)
{
	ssize_t written;

	while (len > 0) {
		written = write(STDOUT_FILENO, lines, len);
		if (written == -1 && errno == EAGAIN)
			poll(&(struct pollfd){ 1, POLLOUT, 0 }, 1, -1);
		else if (written == -1 && errno != EINTR)
			_exit(errno);	/* the parent prints it */
		else if (written > 0)
			lines += written, len -= (size_t)written;
	}
}

static void
serve(int client)
{
	char lines[LINE_BYTES], *lf;
	size_t len = 0, whole;
	ssize_t more = 0;

	while (len < sizeof lines &&
	    (more = read(client, lines + len, sizeof lines - len)) > 0) {
		len += (size_t)more;
		lf = memrchr(lines, '\n', len);
		whole = lf != NULL ? (size_t)(lf + 1 - lines) : 0;
		write_lines(lines, whole);
		len -= whole;
		memmove(lines, lines + whole, len);
	}
	if (more == 0 && len > 0) {	/* the last line has no LF */
		lines[len++] = '\n';
		write_lines(lines, len);
	}
}

int
main(int argc, char *argv[])
{
	struct pollfd input;
	pid_t parent = getpid();
	sigset_t child, none;
	int client, listener;

	if (argc < 2)
		errx(1, "usage: sink port [host]");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, reap);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	sigemptyset(&none);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	input = (struct pollfd){ .fd = listener, .events = POLLIN };
	fputs("ready\n", stderr);
	for (;;) {	/* reap runs in ppoll alone, where err is safe */
		if (ppoll(&input, 1, NULL, &none) == -1)
			continue;
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
			die_with_parent();
			if (getppid() == parent)	/* it has not died before */
				serve(client);
			_exit(0);
		}
		close(client);
	}
}
