/*
 * sink, a ring for each core: one system call brings the bytes of many clients in
 * lent buffers, and their lines go out in one write. That write is a plain one
 * under a mutex: rings that wrote by themselves would race for the file offset.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BUFFERS = 1024,		/* a guess; a power of two */
	BUFFER_BYTES = 4096,
	CLIENTS = 65536,	/* a guess: a higher descriptor is dropped */
	ENTRIES = 2048,		/* a guess: requests handed over at once */
	LINE_BYTES = 4096,	/* the longest line with its LF */
};

enum op { ACCEPT, CANCEL, RECEIVE, REST };
#define TAG(op, fd) ((uint64_t)(op) << 32 | (uint32_t)(fd))

static pthread_barrier_t set_up;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;	/* to write */
static _Thread_local struct io_uring ring;
static _Thread_local struct io_uring_buf_ring *spare;
static _Thread_local char (*buffers)[BUFFER_BYTES];
static _Thread_local char batch[65536];	/* the whole lines of this turn */
static _Thread_local size_t filled;	/* bytes of batch */
static _Thread_local char (*carry)[LINE_BYTES];	/* lines that have begun */
static _Thread_local uint16_t *carried;	/* bytes of carry */

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

static void
receive(int client)
{
	struct io_uring_sqe *sqe = request(RECEIVE, client);

	io_uring_prep_recv_multishot(sqe, client, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
}

static void
write_batch(void)
{
	size_t done = 0;
	ssize_t written;

	if (filled == 0)
		return;
	pthread_mutex_lock(&turn);
	while (done < filled) {
		written = write(STDOUT_FILENO, batch + done, filled - done);
		if (written > 0)
			done += (size_t)written;
		else if (errno == EAGAIN)
			poll(&(struct pollfd){ 1, POLLOUT, 0 }, 1, -1);
		else if (errno != EINTR)
			err(1, "standard output");
	}
	filled = 0;
	pthread_mutex_unlock(&turn);
}

/* Puts whole lines into the batch, and carries a line that has begun. */
static void
take(int client, const char *bytes, size_t more)
{
	size_t len = carried[client] + more;
	char *lf, *text;

	if (sizeof batch - filled < 2 * LINE_BYTES)
		write_batch();
	text = batch + filled;
	memcpy(text, carry[client], carried[client]);
	memcpy(text + carried[client], bytes, more);
	for (; (lf = memchr(text, '\n', len < LINE_BYTES ? len : LINE_BYTES));
	    text = lf + 1)
		len -= (size_t)(lf + 1 - text);
	filled = (size_t)(text - batch);
	if (len < LINE_BYTES) {
		memcpy(carry[client], text, len);
		carried[client] = (uint16_t)len;
	} else {	/* too long: take no more of this client */
		carried[client] = LINE_BYTES;
		io_uring_prep_cancel64(request(CANCEL, client),
		    TAG(RECEIVE, client), 0);
	}
}

/* A step of a client: takes the bytes of a receive, or the end of its stream. */
static void
serve(int client, int len, unsigned flags)
{
	unsigned number = flags >> IORING_CQE_BUFFER_SHIFT;

	if (len > 0) {
		if (carried[client] < LINE_BYTES)
			take(client, buffers[number], (size_t)len);
		lend(number);
	}
	if (flags & IORING_CQE_F_MORE)
		return;
	if (carried[client] < LINE_BYTES && (len > 0 || len == -ENOBUFS)) {
		receive(client);
		return;
	}
	if (len == 0 && carried[client] > 0 && carried[client] < LINE_BYTES)
		take(client, "\n", 1);	/* the last line has none */
	write_batch();	/* before the close, which says so */
	carried[client] = 0;
	close(client);
}

static void
handle(const struct io_uring_cqe *cqe)
{
	int fd = (int)(uint32_t)cqe->user_data;

	switch ((enum op)(cqe->user_data >> 32)) {
	case ACCEPT:
		if (cqe->res >= CLIENTS)
			close(cqe->res);
		else if (cqe->res >= 0)
			receive(cqe->res);
		if (!(cqe->flags & IORING_CQE_F_MORE))
			welcome(fd, cqe->res);
		break;
	case RECEIVE:
		serve(fd, cqe->res, cqe->flags);
		break;
	default:	/* a cancel or a rest: nothing is to be done */
		break;
	}
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
	carry = calloc(CLIENTS, sizeof *carry);	/* pages come when touched */
	carried = calloc(CLIENTS, sizeof *carried);
	buffers = malloc(BUFFERS * sizeof *buffers);
	spare = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
	if (carry == NULL || carried == NULL || buffers == NULL ||
	    spare == NULL)
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
		write_batch();
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
	struct timespec soon;
	int i, sig;

	if (argc < 2)
		errx(1, "usage: sink port [host]");
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
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;	/* so long may a write under way take */
	pthread_mutex_timedlock(&turn, &soon);
	_exit(0);
}
