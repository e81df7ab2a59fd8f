/*
 * stream, a process for each client: a straight program that reads, sleeps and
 * writes, and fails alone, for a fork, page tables, a kernel stack and a context
 * switch with every chunk.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

enum {
	HEAD_MS = 10000,	/* for a head to come, by the contract */
	LEAVE_MS = 2000,	/* a guess: for a refused client to read why */
	REST_MS = 100,		/* a guess: how soon a descriptor comes free */
};

static pid_t server;
static int held[2];	/* a pipe that all processes have: it ends with the last */

/*
 * The server ends when its children have ended, by one signal for the group. The
 * kernel reaps them (SIG_IGN): a call of wait looks through all that are left, and
 * none of ten thousand can end meanwhile.
 */
static void
stop(int sig)
{
	char none;

	(void)sig;
	if (getpid() == server) {	/* not a child that is just made */
		signal(SIGCHLD, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		kill(0, SIGTERM);
		close(held[1]);
		while (read(held[0], &none, 1) == -1 && errno == EINTR)
			continue;
		while (wait(NULL) != -1 || errno == EINTR)
			continue;
	}
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
	    listen(fd, INT_MAX))	/* as long as the kernel allows */
		err(1, "%s port %s", host, port);
	return fd;	/* clients inherit TCP_NODELAY */
}

static int64_t
clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Like read, but returns -1 with EAGAIN if nothing has come by end_ms. */
static ssize_t
read_until(int client, char *bytes, size_t size, int64_t end_ms)
{
	struct pollfd one = { .fd = client, .events = POLLIN };
	int64_t left_ms = end_ms - clock_ms();

	if (poll(&one, 1, left_ms > 0 ? (int)left_ms : 0) == 1)
		return read(client, bytes, size);
	errno = EAGAIN;
	return -1;
}

/*
 * Sends all bytes. False: the socket did not take them. Such a client has not read
 * for so long that it has lost interest.
 */
static bool
say(int client, const char *bytes, size_t len)
{
	return send(client, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

/*
 * Sends the last bytes and leaves. For a while, the client's bytes are read: close
 * with unread bytes is a reset, which may overtake the answer.
 */
static void
leave(int client, const char *last, size_t len)
{
	int64_t end_ms = clock_ms() + LEAVE_MS;
	char rest[HEAD_BYTES];

	if (say(client, last, len) && shutdown(client, SHUT_WR) == 0)
		while (read_until(client, rest, sizeof rest, end_ms) > 0)
			continue;
}

/* Chunk n is due n seconds after the greeting, even if the one before was late. */
static void
stream(int client, const struct request *request)
{
	char said[SAID_BYTES];
	struct timespec due;
	unsigned number = 0;
	size_t len = http_greet(said, request);

	clock_gettime(CLOCK_MONOTONIC, &due);
	while (say(client, said, len)) {
		due.tv_sec++;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due,
		    NULL) == EINTR)
			continue;
		len = http_chunk(said, request->coded, ++number, request->id,
		    request->len);
	}
}

static void
serve(int client)
{
	int64_t end_ms = clock_ms() + HEAD_MS;
	char head[HEAD_BYTES], said[SAID_BYTES];
	size_t len = 0, end = 0;
	struct request request;
	int status = 431;
	ssize_t got;

	while (end == 0 && len < sizeof head) {
		got = read_until(client, head + len, sizeof head - len, end_ms);
		if (got == -1 && errno == EAGAIN) {
			status = 408;
			break;
		}
		if (got <= 0)
			return;
		end = http_end(head, len + (size_t)got, len);
		len += (size_t)got;
	}
	if (end > 0)
		status = http_parse(head, end, &request);
	if (status != 200)
		leave(client, said, http_refuse(said, status));
	else if (request.bare)
		leave(client, said, http_greet(said, &request));
	else
		stream(client, &request);
}

int
main(int argc, char *argv[])
{
	int client, listener;
	struct rlimit files;

	if (argc < 2)
		errx(1, "usage: stream port [host]");
	server = getpid();
	if ((getpgrp() != server && setpgid(0, 0)) || pipe(held))
		err(1, "a group of processes");
	signal(SIGCHLD, reap);	/* calls restart after a signal: no EINTR */
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	fputs("ready\n", stderr);
	for (;;) {
		client = accept(listener, NULL, NULL);
		if (client == -1) {	/* descriptors or memory ran out */
			poll(NULL, 0, REST_MS);
			continue;
		}
		switch (fork()) {
		case -1:	/* no process left: drop this client, wait for others */
			poll(NULL, 0, REST_MS);
			break;
		case 0:
			close(listener);
			signal(SIGCHLD, SIG_DFL);
			signal(SIGINT, SIG_DFL);
			signal(SIGTERM, SIG_DFL);
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			if (getppid() == server)	/* it has not died before */
				serve(client);
			_exit(0);
		}
		close(client);
	}
}
