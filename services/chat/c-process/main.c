/*
 * main: listens, starts two processes for each client, and owns the tables of
 * persons, rooms and members. It waits for all clients at once, and never for a
 * single one.
 */
#include "daemon.h"
#include "main.h"

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TICK_MS = 1000,		/* between two looks at clients, log and state */
	ACCEPTS = 64,		/* a guess: in a turn, about half a millisecond */
	RETRY_MS = 100,		/* a guess: how soon a descriptor comes free */
	POLL_LISTENER = 0,
	POLL_SIGNALS,
	POLL_CLIENTS,		/* then two for each client */
};

struct paths paths;
struct shared *shared;
struct self self;

static struct pollfd *polled;
static struct options options;
static int signal_pipe[2], lock_fd = -1;
static volatile sig_atomic_t ending, rotating;

static void
on_signal(int sig)
{
	int saved = errno;

	if (sig == SIGHUP)
		rotating = 1;
	else if (sig != SIGCHLD)
		ending = 1;
	(void)write(signal_pipe[1], "", 1);	/* a full pipe wakes main, too */
	errno = saved;
}

static void
catch_signals(void)
{
	static const int caught[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	struct sigaction action = { .sa_handler = on_signal,
	    .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	size_t i;

	if (pipe(signal_pipe) == -1)
		err(1, "pipe");
	for (i = 0; i < 2; i++)
		if (fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK) == -1 ||
		    fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC) == -1)
			err(1, "pipe");
	for (i = 0; i < sizeof caught / sizeof caught[0]; i++)
		(void)sigaction(caught[i], &action, NULL);
	if (PUBLISHED)
		multicast_start();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* a limit is an error of write */
}

/* The address is bound as given. A port without an address means different things
 * on different systems; one of them then listens on IPv6 only. */
static int
listen_on(const char *host, const char *port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	bool six = strchr(host, ':') != NULL;
	int number = atoi(port), on = 1, fd;

	v4.sin_port = v6.sin6_port = htons((uint16_t)number);
	if (number < 1 || number > 65535 ||
	    inet_pton(six ? AF_INET6 : AF_INET, host,
	    six ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
		errx(1, "%s port %s: not an address", host, port);
	fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	if (fd == -1 || fcntl(fd, F_SETFL, O_NONBLOCK) == -1 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    (six && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)) ||
	    bind(fd, six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
	    six ? sizeof v6 : sizeof v4) ||
	    listen(fd, SOMAXCONN))
		err(1, "%s port %s", host, port);
	return fd;
}

static void
path_of(char *to, const char *name)
{
	if (snprintf(to, PATH_MAX, "%s/%s", paths.folder, name) >= PATH_MAX)
		errx(1, "%s: its name is too long", paths.folder);
}

static void
name_paths(void)
{
	path_of(paths.log, "log");
	path_of(paths.sync, "sync");
	path_of(paths.state, "state");
	path_of(paths.fresh, "state.new");
	path_of(paths.lock, "lock");
	path_of(paths.password, "password");
}

/* Locks the folder, also when another one has come in its place. Sets errno. */
int
folder_lock(void)
{
	int fd = open(paths.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd == -1)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		int error = errno;

		(void)close(fd);
		errno = error;
		return -1;
	}
	if (lock_fd != -1)
		(void)close(lock_fd);
	lock_fd = fd;
	return 0;
}

/* Makes DATA and locks it for as long as this process lives. */
static void
open_folder(const char *folder)
{
	if (mkdir(folder, 0700) == -1 && errno != EEXIST)
		err(1, "%s", folder);
	if (realpath(folder, paths.folder) == NULL)
		err(1, "%s", folder);
	name_paths();
	if (folder_lock() != 0)
		errx(1, "%s: %s", paths.folder, errno == EWOULDBLOCK ?
		    "another server has it" : strerror(errno));
}

/* As many clients as there can be descriptors: two each. */
static void
raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Accepts connections, a bounded number in a turn, so that clients do not wait.
 * Returns false when nothing can be accepted for the moment. */
static bool
accept_clients(int listener)
{
	struct sockaddr_storage address;
	struct sockaddr *at = (struct sockaddr *)&address;
	int fd, on = 1, flags, count;
	socklen_t len;

	for (count = 0; count < ACCEPTS; count++) {
		len = sizeof address;
		fd = accept(listener, at, &len);
		if (fd == -1 && (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM)) {
			complain("accept: %s", strerror(errno));
			return false;
		}
		if (fd == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return true;
		if (fd == -1)
			continue;	/* it has gone again */
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		if ((flags = fcntl(fd, F_GETFL)) != -1)	/* the BSDs pass it on */
			(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
		client_call(fd, at);
	}
	return true;
}

static void
read_done(struct client *c)
{
	static struct message m;

	int error;

	while ((error = message_recv(c->send_fd, &m, false)) == 0)
		if (m.type == M_DONE) {
			c->in_order &= m.value != 0;
			deal_done(c, m.offset);
		}
	if (error == EAGAIN)
		return;
	client_unqueue(c);	/* SEND is gone: nothing reads the queue any more */
	c->in_order = false;	/* SEND did not say how much it has sent */
	if (c->stage == STAGE_LEAVING)
		deal_done(c, 0);
}

/* Messages of SENDs come before requests of RECVs, so that the nick of a client
 * that has just ended is free for a client that asks for it. */
static void
serve_clients(uint32_t count)
{
	struct message *m = &scratch->request;
	struct client *c;
	uint32_t i;
	int error;

	for (i = 0; i < count; i++) {
		c = &clients[i];
		if (c->stage == STAGE_FREE || c->stage == STAGE_CALLING)
			continue;
		if (polled[POLL_CLIENTS + 2 * i + 1].revents & POLLOUT)
			client_flush(c);
		if (polled[POLL_CLIENTS + 2 * i + 1].revents & (POLLIN | POLLHUP))
			read_done(c);
	}
	announce();
	for (i = 0; i < count; i++) {
		c = &clients[i];
		if (c->stage == STAGE_FREE ||
		    !(polled[POLL_CLIENTS + 2 * i].revents &
		    (POLLIN | POLLHUP | POLLERR)))
			continue;
		if (c->stage == STAGE_CALLING) {
			client_answer(c);
			continue;
		}
		error = message_recv(c->recv_fd, m, false);
		if (error == 0)
			deal(c, m);
		else if (error != EAGAIN)
			deal_gone(c);
	}
	announce();
}

static void
fill_polled(uint32_t count, int listener)
{
	struct pollfd *p = polled + POLL_CLIENTS;
	uint32_t i;

	polled[POLL_LISTENER] = (struct pollfd){ listener, POLLIN, 0 };
	polled[POLL_SIGNALS] = (struct pollfd){ signal_pipe[0], POLLIN, 0 };
	for (i = 0; i < count; i++, p += 2) {
		struct client *c = &clients[i];
		bool waits = c->queue_head < c->queue_tail;

		p[0] = (struct pollfd){ c->recv_fd, POLLIN, 0 };
		p[1] = (struct pollfd){ c->send_fd, POLLIN, 0 };
		if (c->stage == STAGE_FREE)
			p[0].fd = p[1].fd = -1;
		else if (waits)
			p[1].events |= POLLOUT;
		else if (c->stage != STAGE_LEAVING || c->nick[0] == '\0')
			p[1].fd = -1;	/* its nick does not wait for SEND's end */
	}
}

static void
rotate(void)
{
	int error = logfile_rotate();

	if (error == EAGAIN)
		return;
	rotating = 0;
	if (error == 0)
		error = journal_rewrite();
	if (error != 0)
		complain("%s is not put aside: %s", paths.log, strerror(error));
}

static void
tick(uint64_t now)
{
	static uint64_t last;

	if (rotating)
		rotate();
	if (now - last < TICK_MS && !ending)
		return;
	last = now;
	if (options.aside_bytes != 0 && atomic_load(&shared->log_end) -
	    atomic_load(&shared->log_base) >= options.aside_bytes)
		rotating = 1;
	client_tick(ending != 0);
	journal_tick();
}

static void
reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
}

/* One turn of main. Returns false when the server has ended. */
static bool
turn(int *listener)
{
	static uint64_t deadline, again;
	uint32_t count = atomic_load(&shared->clients);
	uint64_t now = os_clock_ms();
	char signals[64];
	int wait = client_count() == 0 && !rotating ? -1 : TICK_MS;

	if (ending && deadline == 0) {
		deadline = now + STOP_MS + STALL_MS / 2;
		(void)close(*listener);
		*listener = -1;
	}
	tick(now);
	if (ending && (client_count() == 0 || now > deadline))
		return false;
	if (now < again || rotating || ending)
		wait = RETRY_MS;
	fill_polled(count, now < again ? -1 : *listener);
	if (poll(polled, POLL_CLIENTS + 2 * count, wait) == -1)
		return true;
	if (polled[POLL_SIGNALS].revents & POLLIN) {
		while (read(signal_pipe[0], signals, sizeof signals) > 0)
			continue;
		reap();
	}
	serve_clients(count);
	if ((polled[POLL_LISTENER].revents & POLLIN) && *listener != -1 &&
	    !accept_clients(*listener))
		again = now + RETRY_MS;
	return true;
}

/* No process stays behind. */
static void
finish(void)
{
	uint32_t i, count = atomic_load(&shared->clients);

	for (i = 0; i < count; i++)
		if (clients[i].stage != STAGE_FREE)
			client_kill(&clients[i]);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		continue;
	if ((errno = journal_rewrite()) != 0)
		complain("%s: %s", paths.state, strerror(errno));
}

int
main(int argc, char *argv[])
{
	int listener;

	options_read(&options, argc, argv);
	(void)umask(077);
	raise_limits();
	shared = os_shared(sizeof *shared);
	open_folder(options.folder);
	daemon_start(&options);
	catch_signals();
	state_init();
	client_init();
	origin_init(options.each);
	polled = os_table((POLL_CLIENTS + 2 * MAX_CLIENTS) * sizeof *polled);
	listener = listen_on(options.host, options.port);
	daemon_drop(&options);
	name_paths();
	journal_load();
	sandbox(ROLE_MAIN);
	daemon_ready(&options);
	while (turn(&listener))
		continue;
	finish();
	daemon_end(&options);
	return 0;
}
