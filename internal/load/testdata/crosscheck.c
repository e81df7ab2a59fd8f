/*
 * An echo client in plain C: the measure for the instrument. It makes the closed shape, one message of 16 bytes in
 * flight on each connection, checks each reply, and prints what the engine reports of the same load: round trips and
 * its own CPU time in the window. It knows nothing of rates, protocols or faults; the first fault ends it.
 *
 *	crosscheck PORT CONNECTIONS WARMUP_MS WINDOW_MS
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 16, EVENTS = 256 };

struct client {
	int fd;
	uint64_t message[MESSAGE / 8];	/* connection and number */
};

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t
cpu_ns(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * INT64_C(1000000000) +
	    (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * INT64_C(1000);
}

static void
send_next(struct client *c)
{
	c->message[1]++;
	if (write(c->fd, c->message, MESSAGE) != MESSAGE)
		err(1, "write");
}

static void
dial(struct client *c, uint64_t id, uint16_t port, int poll)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
	int one = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->message[0] = id;
	if ((c->fd = socket(AF_INET, SOCK_STREAM, 0)) == -1 ||
	    connect(c->fd, (struct sockaddr *)&to, sizeof to) == -1)
		err(1, "connect");
	if (setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == -1 ||
	    epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &ev) == -1)
		err(1, "epoll");
}

int
main(int argc, char *argv[])
{
	struct epoll_event events[EVENTS];
	struct client *clients;
	uint64_t reply[MESSAGE / 8];
	int64_t open_at, close_at, opened = 0, cpu = 0, trips = 0, t;
	int count, i, n, poll;

	if (argc != 5)
		errx(2, "usage: crosscheck PORT CONNECTIONS WARMUP_MS WINDOW_MS");
	count = atoi(argv[2]);
	if ((poll = epoll_create1(0)) == -1 || !(clients = calloc((size_t)count, sizeof *clients)))
		err(1, "start");
	for (i = 0; i < count; i++)
		dial(&clients[i], (uint64_t)i, (uint16_t)atoi(argv[1]), poll);
	open_at = now_ns() + atoi(argv[3]) * INT64_C(1000000);
	close_at = open_at + atoi(argv[4]) * INT64_C(1000000);
	for (i = 0; i < count; i++)
		send_next(&clients[i]);
	while ((t = now_ns()) < close_at) {
		if (!opened && t >= open_at) {
			opened = t;
			cpu = cpu_ns();
			trips = 0;
		}
		if ((n = epoll_wait(poll, events, EVENTS, 1000)) == -1)
			err(1, "epoll_wait");
		for (i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;

			if (read(c->fd, reply, MESSAGE) != MESSAGE || memcmp(reply, c->message, MESSAGE))
				errx(1, "wrong reply");
			trips++;
			send_next(c);
		}
	}
	printf("%lld %lld %lld\n", (long long)trips, (long long)(cpu_ns() - cpu), (long long)(t - opened));
	return 0;
}
