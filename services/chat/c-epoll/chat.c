/*
 * chat, one event loop: in a turn it obeys all clients that have sent something,
 * writes their messages into the log at once, and gives each client that is to
 * hear them one write. No lock, no copy for each listener; but one core for all.
 */
#define LAYER L_CHAT
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "end.h"
#include "join.h"
#include "keep.h"
#include "log.h"
#include "missed.h"
#include "obey.h"
#include "out.h"
#include "ping.h"
#include "record.h"
#include "register.h"
#include "snapshot.h"
#include "sync.h"

enum {
	EVENTS = 256,
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
	LINGER_MS = 10,		/* a guess: how soon a socket is read empty */
	SWEEP_MS = 1000,
	APART_US = 500,		/* a guess: people do not notice it */
	WORTH = 4,		/* a guess: events for which it pays to wait */
	UNPAID_US = 100000,	/* a guess: no more waits for so long if it did not */
};

static int loop, listener, signals;
static enum waiting waiting;	/* to be accepted */
static int64_t now_us, unpaid_us;
static int64_t swept_ms, end_ms, retry_ms, linger_ms;
static bool lingering;

static int
listen_on(const char *host, const char *port)
{
	union {
		struct sockaddr		any;
		struct sockaddr_in	four;
		struct sockaddr_in6	six;
	} addr = { 0 };
	int number = atoi(port), on = 1, fd;
	socklen_t len = sizeof addr.four;

	if (inet_pton(AF_INET, host, &addr.four.sin_addr) == 1)
		addr.four.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &addr.six.sin6_addr) == 1) {
		addr.six.sin6_family = AF_INET6;
		len = sizeof addr.six;
	} else
		number = 0;
	if (number < 1 || number > 65535)
		errx(1, "%s port %s: not an address", host, port);
	addr.four.sin_port = htons((uint16_t)number);	/* in the same place */
	fd = socket(addr.any.sa_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
	    bind(fd, &addr.any, len) || listen(fd, SOMAXCONN))
		err(1, "%s port %s", host, port);
	return fd;	/* clients inherit TCP_NODELAY */
}

static void
watch(int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	if (what == &listener)
		event.events |= EPOLLET;	/* it tells once */
	if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == -1)
		err(1, "epoll");
}

static void
look_at_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_us = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
	now_ms = now_us / 1000;
}

/*
 * Turns that would follow each other closely are drawn apart, so that each has
 * many clients to serve. When clients wait for each other, waiting brings no
 * others, and turns are not drawn apart for a while. Returns whether it waited.
 */
static bool
draw_apart(void)
{
	int64_t began = now_us, left;

	look_at_clock();
	left = APART_US - (now_us - began);
	if (left <= 0 || now_us < unpaid_us || again.first != NULL ||
	    missed_waits())
		return false;
	nanosleep(&(struct timespec){ .tv_nsec = left * 1000 }, NULL);
	return true;
}

/* Tells all clients. One that reads it in order has had all. */
static void
begin_to_end(void)
{
	struct signalfd_siginfo info;
	struct conn *c;

	if (read(signals, &info, sizeof info) == -1 || stopping)
		return;
	stopping = true;
	end_ms = now_ms;
	waiting = NOBODY;
	close(listener);
	for (c = clients.first; c != NULL; c = list_next(&clients, c))
		conn_end(c, "The server ends", QUIT);
}

static void
end(void)
{
	sync_wait();
	log_check();
	snapshot_write();
	if (fdatasync(record.fd) == -1 || !keep_sync())
		err(1, "not all is on the disk");
	_exit(0);
}

static int
timeout(void)
{
	int64_t due = swept_ms + SWEEP_MS, asks = asks_next();

	if (again.first != NULL || missed_waits())
		return 0;
	if (clients.first == NULL && waiting == NOBODY && !keep_broken)
		return -1;
	if (asks != 0 && asks < due)
		due = asks;
	if (waiting != NOBODY && retry_ms < due)
		due = retry_ms;
	if (lingering && linger_ms < due)
		due = linger_ms;
	return due > now_ms ? (int)(due - now_ms) : 0;
}

static void
each_second(void)
{
	int64_t since = now_ms - swept_ms;

	if (since < SWEEP_MS)
		return;
	swept_ms = now_ms;
	if (since < 2 * SWEEP_MS)
		sweep();	/* after a stop, what clients said meanwhile is read first */
	log_check();
	if (keep_broken || keep_grown)
		snapshot_write();
	sync_begin(true);
}

static void
accept_some(void)
{
	if (waiting == NOBODY || now_ms < retry_ms)
		return;
	waiting = client_accept(loop, listener);
	retry_ms = waiting == NO_ROOM ? now_ms + RETRY_MS : 0;
}

static void
take_events(void)
{
	struct epoll_event events[EVENTS];
	bool waited = draw_apart();
	int count = epoll_wait(loop, events, EVENTS, timeout());
	struct list now;
	struct conn *c;

	look_at_clock();
	if (waited && count < WORTH)
		unpaid_us = now_us + UNPAID_US;
	for (int i = 0; i < count; i++) {
		void *what = events[i].data.ptr;

		if (what == &listener)
			waiting = SOMEBODY;
		else if (what == &sync_done)
			sync_end();
		else if (what == &signals)
			begin_to_end();
		else
			ready(what, events[i].events);
	}
	go_on();
	now = list_take(&again);
	while ((c = list_pop(&now)) != NULL)
		if (conn_stays(c))
			obey(client_of(c));
}

int
main(int argc, char *argv[])
{
	sigset_t stop;
	const char *reason;

	if (argc != 4)
		errx(1, "usage: chat port host data");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* a full disk, as write says it */
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	if (mkdir(argv[3], 0700) == -1 && errno != EEXIST)
		err(1, "%s", argv[3]);
	if ((reason = record_open(argv[3])) != NULL)
		errx(1, "%s: %s", argv[3], reason);
	snapshot_load(argv[3]);
	password_in(argv[3]);
	listener = listen_on(argv[2], argv[1]);
	loop = epoll_create1(EPOLL_CLOEXEC);
	signals = signalfd(-1, &stop, SFD_CLOEXEC);
	sync_start();
	watch(listener, &listener);
	watch(signals, &signals);
	watch(sync_done, &sync_done);
	look_at_clock();
	swept_ms = now_ms;
	fputs("ready\n", stderr);
	while (!stopping || (clients.first != NULL && now_ms - end_ms < 1700)) {
		take_events();
		accept_some();
		commit();
		catch_up();
		asks_due();
		each_second();
		flush();
		go_on();
		if (reap() || (lingering && now_ms >= linger_ms)) {
			lingering = lingers();
			linger_ms = now_ms + LINGER_MS;
		}
		sync_begin(false);
	}
	end();
}
