// Lets bodies of tests do what no Eve text can: wait for each other outside of all permissions. A body that meets
// another one runs beside it, whatever the clock says.
#pragma once
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t meet_present, meet_most, meet_open, meet_done;

// A net: the tests give up earlier, after five minutes.
enum { meet_limit_ms = 600 * 1000 };

static inline int64_t meet_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static inline int64_t meet_wait(int64_t *word, int64_t least, int64_t limit_ms)
{
	int64_t end = meet_now_ms() + limit_ms;
	struct timespec pause = {0, 200000};

	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < least) {
		if (meet_now_ms() > end)
			return (0);
		nanosleep(&pause, 0);
	}
	return (1);
}

// Waits until so many bodies are in here at once; 0 if they do not come.
static inline int64_t meet(int64_t bodies)
{
	int64_t all;

	__atomic_add_fetch(&meet_present, 1, __ATOMIC_SEQ_CST);
	all = meet_wait(&meet_present, bodies, meet_limit_ms);
	return (all);
}

// How many bodies were between enter and leave at most.
static inline int64_t enter(void)
{
	int64_t now = __atomic_add_fetch(&meet_present, 1, __ATOMIC_SEQ_CST);
	int64_t most = __atomic_load_n(&meet_most, __ATOMIC_SEQ_CST);
	struct timespec pause = {0, 1000000};

	while (most < now && !__atomic_compare_exchange_n(&meet_most, &most, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	nanosleep(&pause, 0);
	return (now);
}

static inline int64_t leave(void)
{
	__atomic_sub_fetch(&meet_present, 1, __ATOMIC_SEQ_CST);
	return (__atomic_load_n(&meet_most, __ATOMIC_SEQ_CST));
}

static inline int64_t say_holding(void)
{
	static const char text[] = "holding\n";

	return (write(2, text, sizeof text - 1) == sizeof text - 1);
}

// Waits until `release` was called so often, and says so; 0 if that does not happen. How many have come back,
// `returned` tells.
static inline int64_t hold(int64_t releases)
{
	int64_t so;

	if (!say_holding())
		return (0);
	so = meet_wait(&meet_open, releases, meet_limit_ms);
	__atomic_add_fetch(&meet_done, 1, __ATOMIC_SEQ_CST);
	return (so);
}

// Waits until `release` is called, without waking up meanwhile.
static inline int64_t hold_still(void)
{
	if (!say_holding())
		return (0);
	while (__atomic_load_n(&meet_open, __ATOMIC_SEQ_CST) == 0)
		syscall(SYS_futex, &meet_open, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
	return (1);
}

static inline int64_t release(void)
{
	int64_t now = __atomic_add_fetch(&meet_open, 1, __ATOMIC_SEQ_CST);

	syscall(SYS_futex, &meet_open, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
	return (now);
}

static inline int64_t opened(void)
{
	return (__atomic_load_n(&meet_open, __ATOMIC_SEQ_CST));
}

static inline int64_t returned(void)
{
	return (__atomic_load_n(&meet_done, __ATOMIC_SEQ_CST));
}

static inline int64_t nap(int64_t microseconds)
{
	struct timespec time = {0, (long)microseconds * 1000};

	nanosleep(&time, 0);
	return (microseconds);
}

static inline int64_t first(const unsigned char *data)
{
	return (data[0]);
}
