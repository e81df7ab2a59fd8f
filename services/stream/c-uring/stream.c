/*
 * stream, one ring: a timing wheel of milliseconds as in c-epoll, but all chunks of
 * a millisecond are handed to the kernel in one call, which also waits for the next
 * one. The price: each operation needs memory and an owner until it has completed.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <liburing.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

enum {
	TURN_MS = 1000,		/* of the wheel: the time between two chunks */
	ENTRIES = 1024,		/* a guess: requests handed over at once */
	RESULTS = 64,		/* a guess: taken at once, in about a millisecond */
	BUFFERS = 256,		/* a guess; a power of two, and a page of them */
	BUFFER_BYTES = 1024,
	SENDS = 256,		/* at once; of 10,000 streams ten are due in 1 ms */
	LATE_BYTES = 1024,	/* a guess: sent at once after a standstill */
	REST_MS = 100,		/* a guess: how soon a descriptor comes free */
	HEAD_S = 10,		/* for a head to come, by the contract */
	LEAVE_S = 2,		/* a guess: for a refused client to read why */
};

enum op { ACCEPT, RECEIVE, SEND };		/* in the low bits of user_data */
enum phase { ASKS, LOOKS_ON, LEAVES, GONE };

struct client {
	LIST_ENTRY(client) beside;	/* others of its millisecond */
	char	*kept;		/* the head so far, later the ID */
	int	 fd;
	uint32_t since_ms;	/* when the phase began */
	uint32_t seconds;	/* since then; the number of its last chunk, too */
	uint16_t len;		/* of `kept` */
	uint8_t	 phase;
	bool	 coded;
};

/*
 * A send under way: the kernel's until its result comes. A receive is under way for
 * each client that asks or leaves, and for none that looks on.
 */
struct said {
	struct client *to;
	size_t	len;
	char	bytes[LATE_BYTES];
};

LIST_HEAD(slot, client);

static struct slot wheel[TURN_MS], due_now;
static int64_t at_ms;		/* where the wheel is */
static int64_t rest_until_ms;	/* no accept before; 0: none is put off */
static int listener;
static struct io_uring ring;
static struct io_uring_buf_ring *spare;
static char buffers[BUFFERS][BUFFER_BYTES];
static struct said said[SENDS];
static uint16_t idle[SENDS];	/* those that are not under way */
static unsigned idles;
static sigset_t outside;	/* the signals that are blocked while it waits */

static void
stop(int sig)
{
	(void)sig;
	shutdown(listener, SHUT_RDWR);	/* a dying ring holds its port for a while */
	_exit(0);
}

/* Signals are taken while the server waits. One that never waits looks for them. */
static void
end_if_told(void)
{
	static int64_t look_ms;
	sigset_t told;

	if (at_ms < look_ms)
		return;
	look_ms = at_ms + REST_MS;
	if (sigpending(&told) == 0 && (sigismember(&told, SIGTERM) == 1 ||
	    sigismember(&told, SIGINT) == 1))
		_exit(0);
}

static int64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
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

static struct io_uring_sqe *
request(enum op op, uintptr_t whose)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (sqe == NULL) {	/* the queue is full: hand it over first */
		io_uring_submit(&ring);
		sqe = io_uring_get_sqe(&ring);
	}
	sqe->user_data = whose << 2 | op;
	return sqe;
}

/*
 * Begins to receive. The kernel takes a spare buffer when bytes come, so a silent
 * client holds none.
 */
static void
receive(struct client *client)
{
	struct io_uring_sqe *sqe = request(RECEIVE, (uintptr_t)client);
	uint64_t whose = sqe->user_data;

	io_uring_prep_recv(sqe, client->fd, NULL, BUFFER_BYTES, 0);
	sqe->user_data = whose;
	sqe->flags |= IOSQE_BUFFER_SELECT;
}

/* Lends a buffer to the kernel, for the client that it receives from next. */
static void
lend(unsigned number)
{
	io_uring_buf_ring_add(spare, buffers[number], BUFFER_BYTES,
	    (unsigned short)number, BUFFERS - 1, 0);
	io_uring_buf_ring_advance(spare, 1);
}

static void
accept_on(void)
{
	struct io_uring_sqe *sqe = request(ACCEPT, 0);
	uint64_t whose = sqe->user_data;

	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, 0);
	sqe->user_data = whose;
}

/*
 * A phase of a client begins. The wheel comes to it a second later and each second
 * from then on. Its time is rounded up, so that nothing is sent before it is due.
 */
static void
begin(struct client *client, enum phase phase)
{
	int64_t ms = clock_ns() / 1000000 + 1;

	client->phase = (uint8_t)phase;
	client->since_ms = (uint32_t)ms;
	client->seconds = 0;
	LIST_INSERT_HEAD(&wheel[ms % TURN_MS], client, beside);
}

static void
release(struct client *client)
{
	close(client->fd);
	free(client->kept);
	free(client);
}

/* A client with a receive under way is freed at its result, which shutdown brings. */
static void
hang_up(struct client *client, bool received_from)
{
	LIST_REMOVE(client, beside);
	client->phase = GONE;
	if (received_from)
		shutdown(client->fd, SHUT_RDWR);
	else
		release(client);
}

/* Sends first or last bytes outside the ring. False: the socket did not take all. */
static bool
say(const struct client *client, const char *bytes, size_t len)
{
	return send(client->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	    (ssize_t)len;
}

/*
 * Sends the last bytes and leaves. For a while, the client's bytes are read: close
 * with unread bytes is a reset, which may overtake the answer.
 */
static void
leave(struct client *client, const char *last, size_t len)
{
	if (say(client, last, len))
		shutdown(client->fd, SHUT_WR);
	free(client->kept);
	client->kept = NULL;
	LIST_REMOVE(client, beside);
	begin(client, LEAVES);
}

static void
refuse(struct client *client, int status)
{
	char text[SAID_BYTES];

	leave(client, text, http_refuse(text, status));
}

/*
 * Answers a head that is whole. The client's place in the wheel is that moment.
 * Returns whether to receive more.
 */
static bool
answer(struct client *client, const char *head, size_t len)
{
	struct request wanted;
	char text[SAID_BYTES], *id;
	int status = http_parse(head, len, &wanted);

	if (status != 200) {
		refuse(client, status);
		return true;
	}
	len = http_greet(text, &wanted);
	if (wanted.bare) {
		leave(client, text, len);
		return true;
	}
	if ((id = malloc(wanted.len)) == NULL || !say(client, text, len)) {
		free(id);
		hang_up(client, false);
		return false;
	}
	memcpy(id, wanted.id, wanted.len);
	free(client->kept);
	client->kept = id;
	client->len = (uint16_t)wanted.len;
	client->coded = wanted.coded;
	LIST_REMOVE(client, beside);
	begin(client, LOOKS_ON);
	return false;
}

/*
 * Takes bytes of a head. Most heads come in one piece, so only the pieces of the
 * others are kept. Returns whether to receive more.
 */
static bool
hear(struct client *client, const char *bytes, size_t got)
{
	static char head[HEAD_BYTES + BUFFER_BYTES];
	size_t len = client->len, end;
	char *more;

	if (client->phase == LEAVES)
		return true;
	if (len > 0)
		memcpy(head, client->kept, len);
	memcpy(head + len, bytes, got);
	end = http_end(head, len + got, len);
	len += got;
	if (end > 0)
		return answer(client, head, end);
	if (len > HEAD_BYTES)
		refuse(client, 431);
	else if ((more = realloc(client->kept, len)) == NULL) {
		hang_up(client, false);
		return false;
	} else {
		client->kept = memcpy(more, head, len);
		client->len = (uint16_t)len;
	}
	return true;
}

static void
received(struct client *client, const struct io_uring_cqe *cqe)
{
	unsigned number = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	bool more = true;

	if (client->phase == GONE)
		release(client);
	else if (cqe->res > 0)
		more = hear(client, buffers[number], (size_t)cqe->res);
	else if (cqe->res != -ENOBUFS && cqe->res != -EINTR)
		hang_up(client, more = false);
	if (cqe->flags & IORING_CQE_F_BUFFER)
		lend(number);
	if (more && cqe->res != 0)
		receive(client);
}

/*
 * A send has completed. If the socket did not take all, the client has gone, or has
 * not read for so long that it has lost interest.
 */
static void
sent(unsigned number, int res)
{
	struct said *one = &said[number];

	if (res != (int)one->len)
		hang_up(one->to, false);
	idle[idles++] = (uint16_t)number;
}

static void
welcome(const struct io_uring_cqe *cqe)
{
	struct client *client;

	if (cqe->res >= 0 && (client = calloc(1, sizeof *client)) != NULL) {
		client->fd = cqe->res;
		begin(client, ASKS);
		receive(client);
	} else if (cqe->res >= 0)
		close(cqe->res);
	if (cqe->flags & IORING_CQE_F_MORE)
		return;
	if (cqe->res < 0)	/* no descriptor or memory: serve those that are in */
		rest_until_ms = at_ms + REST_MS;
	else
		accept_on();
}

/* Takes some results. Returns whether others wait. */
static bool
reap(void)
{
	struct io_uring_cqe *cqe, one;
	int i;

	for (i = 0; i < RESULTS; i++) {
		if (io_uring_peek_cqe(&ring, &cqe) != 0)
			return false;
		one = *cqe;
		io_uring_cqe_seen(&ring, cqe);
		switch ((enum op)(one.user_data & 3)) {
		case ACCEPT:
			welcome(&one);
			break;
		case RECEIVE:
			received((struct client *)(uintptr_t)(one.user_data >> 2), &one);
			break;
		case SEND:
			sent((unsigned)(one.user_data >> 2), one.res);
			break;
		}
	}
	return true;
}

/* Whether its next second has passed. Differences survive a wrap of 32 bits. */
static bool
due(const struct client *client)
{
	return (int32_t)((uint32_t)at_ms - client->since_ms -
	    (client->seconds + 1) * TURN_MS) >= 0;
}

/*
 * Sends what is due: one chunk, or after a standstill several at once. The caller
 * has made sure that a send is idle.
 */
static void
stream(struct client *client)
{
	unsigned number = idle[idles - 1];
	struct said *one = &said[number];
	struct io_uring_sqe *sqe;
	uint64_t whose;

	one->len = 0;
	while (due(client) && one->len < LATE_BYTES - 128)
		one->len += http_chunk(one->bytes + one->len, client->coded,
		    ++client->seconds, client->kept, client->len);
	if (one->len == 0)
		return;
	idles--;
	one->to = client;
	sqe = request(SEND, number);
	whose = sqe->user_data;
	io_uring_prep_send(sqe, client->fd, one->bytes, one->len,
	    MSG_DONTWAIT | MSG_NOSIGNAL);
	sqe->user_data = whose;
}

static void
meet(struct client *client)
{
	if (client->phase == LOOKS_ON)
		stream(client);
	else if (!due(client))
		return;		/* it has just come to this place */
	else if (++client->seconds == HEAD_S)
		refuse(client, 408);
	else if (client->phase == LEAVES && client->seconds == LEAVE_S)
		hang_up(client, true);
}

/*
 * Turns the wheel up to now, or until no send is idle: then it returns false. After
 * a standstill one turn is enough, since it comes to each client. The clients of a
 * millisecond wait in `due_now`. Each goes back to the wheel before it is met,
 * since results may free any client in between.
 */
static bool
turn(void)
{
	int64_t now_ms = clock_ns() / 1000000;
	struct client *client;

	if (at_ms < now_ms - TURN_MS)
		at_ms = now_ms - TURN_MS;
	for (;;) {
		while ((client = LIST_FIRST(&due_now)) != NULL) {
			if (idles == 0)
				return false;
			LIST_REMOVE(client, beside);
			LIST_INSERT_HEAD(&wheel[at_ms % TURN_MS], client, beside);
			meet(client);
		}
		if (at_ms >= now_ms)
			break;
		at_ms++;
		if ((due_now.lh_first = LIST_FIRST(&wheel[at_ms % TURN_MS])) != NULL)
			due_now.lh_first->beside.le_prev = &due_now.lh_first;
		LIST_INIT(&wheel[at_ms % TURN_MS]);
	}
	if (rest_until_ms != 0 && rest_until_ms <= at_ms) {
		rest_until_ms = 0;
		accept_on();
	}
	return true;
}

/*
 * Hands new requests over. Waits for one result more than sends are under way, or
 * until something is due.
 */
static void
hand_over(void)
{
	unsigned under_way = SENDS - idles;
	struct io_uring_cqe *cqe;
	struct __kernel_timespec wait;
	int64_t due_ms = 0, ns;
	int i;

	for (i = 1; due_ms == 0 && i <= TURN_MS; i++)
		if (!LIST_EMPTY(&wheel[(at_ms + i) % TURN_MS]))
			due_ms = at_ms + i;
	if (rest_until_ms != 0 && (due_ms == 0 || due_ms > rest_until_ms))
		due_ms = rest_until_ms;
	ns = due_ms * 1000000 - clock_ns();
	if (ns < 0)
		ns = 0;
	wait = (struct __kernel_timespec){ ns / 1000000000, ns % 1000000000 };
	io_uring_submit_and_wait_timeout(&ring, &cqe, under_way + 1,
	    due_ms == 0 ? NULL : &wait, &outside);
}

static void
set_up(void)
{
	struct io_uring_buf_reg lent = { .ring_entries = BUFFERS };

	if (io_uring_queue_init(ENTRIES, &ring, IORING_SETUP_SINGLE_ISSUER |
	    IORING_SETUP_DEFER_TASKRUN) &&	/* before Linux 6.1: without */
	    io_uring_queue_init(ENTRIES, &ring, 0))
		errx(1, "io_uring is not to be had here");
	spare = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
	if (spare == NULL)
		err(1, "ring");
	lent.ring_addr = (uintptr_t)spare;
	if (io_uring_register_buf_ring(&ring, &lent, 0))
		errx(1, "io_uring lends no buffers here: Linux 6.0 does");
	io_uring_buf_ring_init(spare);
	for (unsigned number = 0; number < BUFFERS; number++)
		lend(number);
	for (idles = 0; idles < SENDS; idles++)
		idle[idles] = (uint16_t)idles;
	accept_on();
}

int
main(int argc, char *argv[])
{
	struct rlimit files;
	bool more;
	sigset_t ends;

	if (argc < 2)
		errx(1, "usage: stream port [host]");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listener = listen_on(argc > 2 ? argv[2] : "127.0.0.1", argv[1]);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &outside);	/* but while it waits */
	at_ms = clock_ns() / 1000000;
	set_up();
	fputs("ready\n", stderr);
	for (more = false;;) {
		if (more)
			io_uring_submit(&ring);
		else
			hand_over();
		more = reap();
		if (!turn())
			more = true;
		end_if_told();
	}
}
