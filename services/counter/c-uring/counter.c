/*
 * counter, a ring for each core: the kernel receives for every client into lent
 * buffers, and one system call brings many of them. The rings share nothing
 * but an atomic counter, and its cache line travels between the cores.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFERS = 1024,		/* a guess; a power of two */
	BUFFER_BYTES = 512,	/* a guess: requests that are answered at once */
	CLIENTS = 1 << 20,	/* Linux hands out no higher descriptor */
	INCREMENT = 1,		/* the request; 0 reads */
	ENTRIES = 2048,		/* a guess: requests handed over at once */
	LATE_BYTES = 65536,	/* a guess: so late, receive no more */
};

enum op { ACCEPT, CANCEL, RECEIVE, REST, SEND };
#define TAG(op, fd) ((uint64_t)(op) << 32 | (uint32_t)(fd))

struct chunk {
	size_t	len;
	char	bytes[];
};

struct client {
	struct chunk *sending;	/* the kernel's until it is sent */
	struct chunk *waiting;	/* received meanwhile */
	bool	receiving;	/* until the kernel says that it ended */
	bool	leaving;	/* nothing more will come */
};

static _Atomic uint64_t counter;
static pthread_barrier_t set_up;
static _Thread_local struct client *clients;
static _Thread_local struct io_uring ring;
static _Thread_local struct io_uring_buf_ring *spare;
static _Thread_local char (*buffers)[BUFFER_BYTES];

/* The first binds without SO_REUSEPORT, so that a port in use is noticed. */
static int
listen_on(const char *host, const char *port, bool first)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
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

static struct io_uring_sqe *
request(enum op op, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (sqe == NULL) {	/* the queue is full: hand it over first */
		io_uring_submit(&ring);
		sqe = io_uring_get_sqe(&ring);
	}
	io_uring_sqe_set_data64(sqe, TAG(op, fd));
	return sqe;
}

/* Lends a buffer to the kernel, for the client that it receives from next. */
static void
lend(unsigned number)
{
	io_uring_buf_ring_add(spare, buffers[number], BUFFER_BYTES,
	    (unsigned short)number, BUFFERS - 1, 0);
	io_uring_buf_ring_advance(spare, 1);
}

/* Accepts from now on; after a rest if descriptors or memory ran out. */
static void
welcome(int listener, int error)
{
	static struct __kernel_timespec rest = { .tv_nsec = 100000000 };
	struct io_uring_sqe *sqe;

	if (error == -EINVAL)	/* main has shut the listener down */
		return;
	if (error < 0) {
		warnx("accept: %s", strerror(-error));
		sqe = request(REST, listener);
		io_uring_prep_timeout(sqe, &rest, 0, 0);
		sqe->flags |= IOSQE_IO_HARDLINK;
	}
	sqe = request(ACCEPT, listener);
	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, 0);
}

/* Copies bytes, so that their buffer is free: a late client holds none. */
static bool
keep(struct client *client, const void *bytes, size_t len)
{
	size_t end = client->waiting != NULL ? client->waiting->len : 0;
	struct chunk *chunk;

	chunk = realloc(client->waiting, sizeof *chunk + end + len);
	if (chunk == NULL)
		return false;
	memcpy(chunk->bytes + end, bytes, len);
	chunk->len = end + len;
	client->waiting = chunk;
	return true;
}

/* Requests the next receive and send. One send at a time keeps the order. */
static void
proceed(int fd)
{
	struct client *client = &clients[fd];
	struct chunk *chunk = client->waiting;
	struct io_uring_sqe *sqe;

	if (chunk != NULL && client->sending == NULL) {
		client->sending = chunk;
		client->waiting = NULL;
		sqe = request(SEND, fd);
		io_uring_prep_send(sqe, fd, chunk->bytes, chunk->len,
		    MSG_WAITALL);
	} else if (client->receiving && (client->leaving ||
	    (chunk != NULL && chunk->len > LATE_BYTES))) {
		sqe = request(CANCEL, fd);
		io_uring_prep_cancel64(sqe, TAG(RECEIVE, fd), 0);
	}
	if (client->receiving || client->sending != NULL)
		return;
	if (client->leaving) {
		client->leaving = false;
		close(fd);
	} else {
		sqe = request(RECEIVE, fd);
		io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
		sqe->flags |= IOSQE_BUFFER_SELECT;
		client->receiving = true;
	}
}

/* False: one byte was no request. Those before it are answered. */
static bool
answer(struct client *client, const char *requests, int len)
{
	uint64_t replies[BUFFER_BYTES];
	int i;

	for (i = 0; i < len && (requests[i] & ~INCREMENT) == 0; i++)
		replies[i] = htobe64(requests[i] == INCREMENT ?
		    atomic_fetch_add(&counter, 1) + 1 : atomic_load(&counter));
	return keep(client, replies, (size_t)i * sizeof *replies) && i == len;
}

static void
handle(const struct io_uring_cqe *cqe)
{
	int fd = (int)(uint32_t)cqe->user_data;
	struct client *client = &clients[fd];
	unsigned number = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	bool more = cqe->flags & IORING_CQE_F_MORE;

	switch ((enum op)(cqe->user_data >> 32)) {
	case ACCEPT:
		if (cqe->res >= 0)
			proceed(cqe->res);
		if (!more)
			welcome(fd, cqe->res);
		return;
	case RECEIVE:
		client->receiving = more;
		if (cqe->res > 0 && !client->leaving)
			client->leaving = !answer(client, buffers[number],
			    cqe->res);
		if (cqe->res > 0)
			lend(number);
		else if (cqe->res != -ENOBUFS && cqe->res != -ECANCELED)
			client->leaving = true;
		break;
	case SEND:
		if (cqe->res != (int)client->sending->len) {	/* it is gone */
			free(client->waiting);
			client->waiting = NULL;
			client->leaving = true;
		}
		free(client->sending);
		client->sending = NULL;
		break;
	default:	/* a cancel or a rest: nothing is to be done */
		return;
	}
	proceed(fd);
}

static void *
run(void *listener)
{
	struct io_uring_buf_reg lent = { .ring_entries = BUFFERS };
	struct io_uring_cqe *cqe;
	unsigned count, head;

	if (io_uring_queue_init(ENTRIES, &ring, IORING_SETUP_SINGLE_ISSUER |
	    IORING_SETUP_DEFER_TASKRUN) &&	/* before Linux 6.1: without */
	    io_uring_queue_init(ENTRIES, &ring, 0))
		errx(1, "io_uring is not to be had here");
	clients = calloc(CLIENTS, sizeof *clients);	/* pages come late */
	buffers = malloc(BUFFERS * sizeof *buffers);
	spare = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
	if (clients == NULL || buffers == NULL || spare == NULL)
		err(1, "ring");
	lent.ring_addr = (uintptr_t)spare;
	if (io_uring_register_buf_ring(&ring, &lent, 0))
		errx(1, "io_uring lends no buffers here: Linux 6.0 does");
	io_uring_buf_ring_init(spare);
	for (unsigned number = 0; number < BUFFERS; number++)
		lend(number);
	welcome(*(int *)listener, 0);
	pthread_barrier_wait(&set_up);
	for (;;) {
		io_uring_submit_and_wait(&ring, 1);
		count = 0;
		io_uring_for_each_cqe(&ring, head, cqe) {
			handle(cqe);
			count++;
		}
		io_uring_cq_advance(&ring, count);
	}
}

int
main(int argc, char *argv[])
{
	const char *host = argc > 2 ? argv[2] : "127.0.0.1";
	static int listeners[CPU_SETSIZE];
	cpu_set_t cores;
	pthread_t thread;
	sigset_t ends;
	int i, sig;

	if (argc < 2)
		errx(1, "usage: counter port [host]");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	if (sched_getaffinity(0, sizeof cores, &cores))
		err(1, "sched_getaffinity");
	pthread_barrier_init(&set_up, NULL, (unsigned)CPU_COUNT(&cores) + 1);
	for (i = 0; i < CPU_COUNT(&cores); i++) {
		listeners[i] = listen_on(host, argv[1], i == 0);
		if (pthread_create(&thread, NULL, run, &listeners[i]))
			errx(1, "no thread");
	}
	pthread_barrier_wait(&set_up);
	fputs("ready\n", stderr);
	sigwait(&ends, &sig);
	while (i-- > 0)		/* a dying ring holds its port for a while */
		shutdown(listeners[i], SHUT_RDWR);
	_exit(0);
}
