/*
 * Child RECV reads lines from its client and obeys them. It waits in read. Any
 * other reason to end shuts the client's socket down, so that read returns.
 */
#include "daemon.h"
#include "numeric.h"
#include "recv.h"

#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { IN_BYTES = 8192 };	/* more than a line with its tags */

struct own own;
struct message to_main;
volatile sig_atomic_t maybe_orphan;

static char in[IN_BYTES];
static size_t in_len;
static bool skipping;		/* the rest of a line that is too long */
static bool any_nul;		/* in the bytes read last */

static void
on_signal(int sig)
{
	int saved = errno;

	/* SEND or main is gone: RECV ends as if the client had gone. */
	if (sig == SIGTERM)
		maybe_orphan = 1;
	atomic_store(&shared->slots[self.slot].ended, ENDED_BROKEN);
	(void)shutdown(FD_CLIENT, sig == SIGCHLD ? SHUT_RDWR : SHUT_RD);
	errno = saved;
}

static void
catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
	    .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGCHLD, &action, NULL);
}

static void
check_nul(const char *at, size_t len)
{
	if (any_nul && memchr(at, '\0', len) != NULL)
		leave(false, "Closing link: a line held NUL");
}

static void
too_long(void)
{
	numeric(ERR_INPUTTOOLONG, ":Input line was too long");
}

/* Obeys a line, which has its LF. */
static void
take_line(char *at, size_t len)
{
	char *blank, *cr;

	check_nul(at, len);
	if (*at == '@') {
		blank = memchr(at, ' ', len);
		if (blank == NULL)
			return;
		if (blank + 1 - at > TAGS_BYTES) {
			too_long();
			return;
		}
		len -= (size_t)(blank + 1 - at);
		at = blank + 1;
	}
	if (len > LINE_BYTES) {
		too_long();
		return;
	}
	len--;
	if (len > 0 && at[len - 1] == '\r')
		len--;
	/* Elsewhere some readers would take it for an end: it is a blank. */
	while ((cr = memchr(at, '\r', len)) != NULL)
		*cr = ' ';
	command(at, len);
}

/* Obeys the lines of one read. The rest is the beginning of the next line. */
static void
take_lines(void)
{
	char *at = in, *end = in + in_len, *lf;
	bool any = false;

	while ((lf = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		if (skipping)
			check_nul(at, (size_t)(lf - at));
		else
			take_line(at, (size_t)(lf + 1 - at));
		skipping = false;
		any = true;
		at = lf + 1;
	}
	in_len = (size_t)(end - at);
	if (in_len > 0 && at > in)
		memmove(in, at, in_len);
	if (in_len > (in[0] == '@' ? TAGS_BYTES + LINE_BYTES : LINE_BYTES) &&
	    !skipping) {
		too_long();
		skipping = true;
	}
	if (skipping) {
		check_nul(in, in_len);
		in_len = 0;
	}
	if (any)
		atomic_store(&shared->slots[self.slot].heard_s,
		    (uint32_t)(os_clock_ms() / 1000));
	finish_batch();
}

static void
end(ssize_t got)
{
	static const char *const why[] = {
		[ENDED_SERVER] = "The server is gone",
		[ENDED_SLOW] = "It does not read",
		[ENDED_SILENT] = "Ping timeout",
		[ENDED_STRANGER] = "No registration",
		[ENDED_BROKEN] = "Connection lost",
	};
	uint32_t ended = atomic_load(&shared->slots[self.slot].ended);

	if (ended != ENDED_NOT)
		leave(false, why[ended]);
	if (got == 0)
		leave(true, "Connection closed");
	leave(false, "Connection lost");
}

static void
start_send(void)
{
	static const char sorry[] = "ERROR :There is no process left\r\n";
	pid_t pid = getpid(), child = os_fork();

	if (child == -1) {
		(void)send(FD_CLIENT, sorry, sizeof sorry - 1,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)shutdown(FD_CLIENT, SHUT_WR);
		(void)recv(FD_CLIENT, in, sizeof in, MSG_DONTWAIT);
		_exit(1);	/* unread bytes would make it a reset */
	}
	if (child == 0) {
		(void)signal(SIGTERM, SIG_IGN);
		(void)signal(SIGCHLD, SIG_DFL);
		(void)os_die_with_parent(SIGKILL);
		self.parent = pid;
		(void)close(FD_MAIN);
		(void)close(FD_SEND);
		if (getppid() != pid)
			_exit(0);
		os_title("chat: send");	/* the sandbox forbids it */
		sandbox(ROLE_SEND);
		send_main();
	}
	own.send_pid = child;
	to_main.type = M_HELLO;
	to_main.value = (uint32_t)child;
	(void)message_send(FD_MAIN, &to_main, true);
}

_Noreturn void
recv_main(pid_t parent)
{
	ssize_t got;

	catch_signals();
	os_title("chat: recv");
	maybe_orphan = !os_die_with_parent(SIGTERM);
	self.parent = parent;
	if (getppid() != parent)
		_exit(0);
	start_send();
	(void)close(FD_NEWS);
	(void)close(FD_ALIVE);
	sandbox(ROLE_RECV);
	for (;;) {
		got = recv(FD_CLIENT, in + in_len, sizeof in - in_len, 0);
		if (got == -1 && errno == EINTR)
			continue;
		if (got <= 0 ||
		    atomic_load(&shared->slots[self.slot].ended) != ENDED_NOT)
			end(got);
		/* A NUL of an earlier read still counts if its line has not ended. */
		any_nul = (any_nul && in_len > 0) ||
		    memchr(in + in_len, '\0', (size_t)got) != NULL;
		in_len += (size_t)got;
		take_lines();
	}
}
