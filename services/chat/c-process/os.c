/* The differences between systems, and nothing else. */
#include "chat.h"

#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#ifdef __FreeBSD__
#include <sys/procctl.h>
#endif

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* Closes all descriptors from first on. */
void
os_close_from(int first)
{
#if defined(__FreeBSD__) || defined(__OpenBSD__)
	closefrom(first);
#else
	long fd, most = sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range	/* of Linux 5.9; musl has no name for it */
	if (syscall(SYS_close_range, (unsigned)first, ~0U, 0) == 0)
		return;
#endif
	for (fd = first; fd < most; fd++)
		(void)close((int)fd);
#endif
}

/* The fork of a C library prepares for threads and writes to its pages, which then
 * are not shared any more. This server has no threads. */
pid_t
os_fork(void)
{
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
	return _Fork();
#endif
#endif
	return fork();
}

/* Has the kernel send a signal at the parent's death; false if it cannot. The pipe
 * FD_ALIVE tells of that on every system. */
bool
os_die_with_parent(int signal)
{
#if defined(__linux__)
	return prctl(PR_SET_PDEATHSIG, signal) == 0;
#elif defined(__FreeBSD__)
	return procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal) == 0;
#else
	(void)signal;
	return false;
#endif
}

void
os_title(const char *title)
{
#if defined(__linux__)
	(void)prctl(PR_SET_NAME, title);
#elif defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
	setproctitle("%s", title);
#else
	(void)title;
#endif
}

static void *
map(size_t bytes, int flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    flags | MAP_ANON | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void *
or_end(void *at, size_t bytes)
{
	if (at == NULL)
		err(1, "%zu bytes of memory", bytes);
	return at;
}

/* Returns pages of main alone. No child inherits them, so none can read them, and
 * none keeps an old copy. Pages take memory when they are used. NULL: no memory. */
void *
os_pages(size_t bytes)
{
	void *at = map(bytes, MAP_PRIVATE);

	if (at == NULL)
		return NULL;
#if defined(__linux__)
	(void)madvise(at, bytes, MADV_DONTFORK);
#elif defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
#ifdef MAP_INHERIT_NONE
	(void)minherit(at, bytes, MAP_INHERIT_NONE);
#else
	(void)minherit(at, bytes, INHERIT_NONE);
#endif
#endif
	return at;
}

/* The same at the start, which fails without memory. */
void *
os_table(size_t bytes)
{
	return or_end(os_pages(bytes), bytes);
}

void *
os_shared(size_t bytes)
{
	return or_end(map(bytes, MAP_SHARED), bytes);
}

static uint64_t
clock_ms(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t
os_clock_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

uint64_t
os_time_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}
