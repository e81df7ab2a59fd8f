/*
 * Is loaded before the C library of a server (LD_PRELOAD). In a file that both map,
 * a test says which calls fail: processes, pairs of sockets, pages, reads of a
 * file, sends without memory, and the right time.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* scarce_test.go writes these. */
struct scarce {
	_Atomic int64_t	forks;		/* so many more succeed; below 0: all */
	_Atomic int64_t	pairs;
	_Atomic int64_t	clock_s;	/* the clock is wrong by so much */
	_Atomic int64_t	refused;	/* calls that failed */
	_Atomic int64_t	maps;		/* of memory */
	_Atomic int64_t	passed_s;	/* so much more time has passed */
	_Atomic int64_t	nap_ms;		/* the longest that poll waits; 0: any */
	_Atomic int64_t	reads;		/* of a file at a place */
	_Atomic int64_t	sends;		/* between processes, that do not wait */
};

static struct scarce plenty = { .forks = -1, .pairs = -1, .maps = -1,
    .reads = -1, .sends = -1 },
    *scarce = &plenty;
static pid_t (*real_fork)(void), (*real_Fork)(void);
static int (*real_socketpair)(int, int, int, int *);
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_send)(int, const void *, size_t, int);

static void __attribute__((constructor))
begin(void)
{
	const char *path = getenv("SCARCE");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	*(void **)&real_mmap = dlsym(RTLD_NEXT, "mmap");
	at = fd == -1 ? MAP_FAILED : real_mmap(NULL, sizeof *scarce,
	    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		scarce = at;
	if (fd != -1)
		(void)close(fd);
	*(void **)&real_fork = dlsym(RTLD_NEXT, "fork");
	*(void **)&real_Fork = dlsym(RTLD_NEXT, "_Fork");
	*(void **)&real_socketpair = dlsym(RTLD_NEXT, "socketpair");
	*(void **)&real_clock = dlsym(RTLD_NEXT, "clock_gettime");
	*(void **)&real_poll = dlsym(RTLD_NEXT, "poll");
	*(void **)&real_pread = dlsym(RTLD_NEXT, "pread");
	*(void **)&real_send = dlsym(RTLD_NEXT, "send");
}

static int
none_left(_Atomic int64_t *left)
{
	int64_t n = atomic_load(left);

	while (n > 0 && !atomic_compare_exchange_weak(left, &n, n - 1))
		continue;
	if (n == 0)
		atomic_fetch_add(&scarce->refused, 1);
	return n == 0;
}

pid_t
fork(void)
{
	if (none_left(&scarce->forks)) {
		errno = EAGAIN;
		return -1;
	}
	return real_fork();
}

pid_t
_Fork(void)
{
	if (none_left(&scarce->forks)) {
		errno = EAGAIN;
		return -1;
	}
	return real_Fork();
}

int
socketpair(int domain, int type, int protocol, int fds[2])
{
	if (none_left(&scarce->pairs)) {
		errno = EMFILE;
		return -1;
	}
	return real_socketpair(domain, type, protocol, fds);
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int failed;

	if (real_clock == NULL)
		*(void **)&real_clock = dlsym(RTLD_NEXT, "clock_gettime");
	failed = real_clock(clock, now);
	if (failed == 0 && clock == CLOCK_REALTIME)
		now->tv_sec += atomic_load(&scarce->clock_s);
	if (failed == 0 && clock == CLOCK_MONOTONIC)
		now->tv_sec += atomic_load(&scarce->passed_s);
	return failed;
}

void *
mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	if (real_mmap == NULL)
		*(void **)&real_mmap = dlsym(RTLD_NEXT, "mmap");
	if (none_left(&scarce->maps)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return real_mmap(at, len, protection, flags, fd, offset);
}

ssize_t
pread(int fd, void *at, size_t len, off_t offset)
{
	if (none_left(&scarce->reads)) {
		errno = EIO;
		return -1;
	}
	return real_pread(fd, at, len, offset);
}

ssize_t
send(int fd, const void *at, size_t len, int flags)
{
	struct sockaddr own = { .sa_family = AF_UNSPEC };
	socklen_t size = sizeof own;

	if ((flags & MSG_DONTWAIT) && atomic_load(&scarce->sends) >= 0 &&
	    getsockname(fd, &own, &size) == 0 && own.sa_family == AF_UNIX &&
	    none_left(&scarce->sends)) {
		errno = ENOBUFS;
		return -1;
	}
	return real_send(fd, at, len, flags);
}

/* A clock that leaps wakes no sleeper, so naps are short. */
int
poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int64_t nap = atomic_load(&scarce->nap_ms);

	if (nap != 0 && (timeout_ms < 0 || timeout_ms > nap))
		timeout_ms = (int)nap;
	return real_poll(fds, count, timeout_ms);
}
