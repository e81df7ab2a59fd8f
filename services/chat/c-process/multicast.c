/*
 * News as the paper has it: a RECV that has written to the log signals all
 * processes, and each SEND looks into the log. main and RECV never take the signal:
 * it stays blocked, and pending. SEND takes it while it rests. The price is a wake
 * of every SEND for every write, whether its client hears the line or not.
 */
#include "chat.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t heard;
static sigset_t resting;	/* the mask of a SEND that rests */

static void
on_news(int sig)
{
	(void)sig;
	heard = 1;
}

/* main, before its first child: children inherit the handler and the mask, so that
 * no signal finds a process that it would kill, and none of a SEND's is lost. The
 * signal goes to the group of processes, which is therefore the server's own. */
void
multicast_start(void)
{
	struct sigaction action = { .sa_handler = on_news };
	sigset_t news;

	if (getpgrp() != getpid())
		(void)setpgid(0, 0);
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)sigemptyset(&news);
	(void)sigaddset(&news, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &news, &resting);
}

void
multicast(void)
{
	(void)kill(0, SIGUSR1);
}

/* Whether there was news since this was asked last. */
bool
multicast_heard(void)
{
	bool was = heard != 0;

	heard = 0;
	return was;
}

/* poll that news ends, also news that has come before. */
int
multicast_poll(struct pollfd *polled, nfds_t count, int wait_ms)
{
	struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000L };

	return ppoll(polled, count, wait_ms < 0 ? NULL : &wait, &resting);
}
