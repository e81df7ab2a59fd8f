/*
 * The output of RECV: messages to the log, requests to main, replies to SEND. The
 * lines of one read go out together: one lock, one write, one sync.
 */
#include "numeric.h"
#include "recv.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SAID_BYTES = 16384,	/* of log lines in one write: a guess */
	LINGER_MS = 200,	/* a guess: for what the client still sends */
};

static char said[SAID_BYTES];
static size_t said_len;
static struct about about;
static uint32_t news_value;
static uint64_t said_end;		/* the end of the last line in the log */
static struct message replies;
static bool wants_sync;

static struct slot *
slot(void)
{
	return &shared->slots[self.slot];
}

/* Sends a message to SEND. While main has messages for SEND in its queue, those
 * came first, and nothing can be said of `safe`. */
void
tell_send(struct message *m)
{
	m->safe = watermark();
	if (atomic_load(&slot()->behind))
		m->safe = 0;
	m->offset = atomic_load(&shared->log_end);
	(void)message_send(FD_SEND, m, true);	/* its death is noticed elsewhere */
}

static void
post_replies(void)
{
	replies.type = M_TEXT;
	if (replies.len > 0)
		tell_send(&replies);
	replies.len = 0;
}

static void
reply_line(const char *line, size_t len)
{
	if (replies.len + len + 2 > sizeof replies.text)
		finish_batch();
	memcpy(replies.text + replies.len, line, len);
	memcpy(replies.text + replies.len + len, "\r\n", 2);
	replies.len += (uint32_t)len + 2;
}

static void
reply_args(const char *head, const char *format, va_list args)
{
	char line[LINE_BYTES];
	int len, more;

	len = snprintf(line, sizeof line, "%s", head);
	more = vsnprintf(line + len, sizeof line - (size_t)len, format, args);
	if (more < 0)
		return;
	len += more;
	if (len > LINE_BYTES - 2)
		len = LINE_BYTES - 2;
	reply_line(line, (size_t)len);
}

void
answer(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	reply_args("", format, args);
	va_end(args);
}

void
numeric(int number, const char *format, ...)
{
	char head[NICK_BYTES + 16];
	va_list args;

	(void)snprintf(head, sizeof head, ":chat %03d %s ", number,
	    own.nick[0] != '\0' ? own.nick : "*");
	va_start(args, format);
	reply_args(head, format, args);
	va_end(args);
}

void
pong(const char *token, size_t len)
{
	wants_sync = true;
	answer(":chat PONG chat :%.*s", (int)len, token);
}

/* The lines are not in the log: a 404 for each that is not a NOTICE. */
static void
refuse(const char *lines, size_t len, int error)
{
	const char *at = lines, *lf;
	struct message kept = replies;
	struct said s;

	replies.len = 0;
	for (; at < lines + len; at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(lines + len - at));
		if (!said_parse(at, (size_t)(lf - at), &s) ||
		    is_word(&s.command, "NOTICE"))
			continue;
		if (replies.len + LINE_BYTES > sizeof replies.text)
			post_replies();
		numeric(ERR_CANNOTSENDTOCHAN,
		    "%.*s :Cannot be written down: %s",
		    (int)s.target.len, s.target.at, strerror(error));
	}
	post_replies();
	replies = kept;
}

/* Tells main who hears the new lines, unless this client is alone in its rooms. As
 * published, every SEND looks for itself. */
static void
announce(uint64_t start, uint64_t end)
{
	struct message *m = &to_main;	/* no request is under way now */
	bool alone = news_value == 0;
	size_t i;

	for (i = 0; i < about.count; i++)
		if ((about.targets[i] & NEWS_PERSON) != 0 || (!PUBLISHED &&
		    atomic_load(&shared->audience[about.targets[i]]) > 1))
			alone = false;
	if (PUBLISHED)
		multicast();
	if (alone && atomic_load(&slot()->told) >= start) {
		atomic_store(&slot()->told, end);
		return;
	}
	m->type = M_NEWS;
	m->value = news_value;
	m->from = start;
	m->offset = end;
	m->len = (uint32_t)(about.count * sizeof about.targets[0]);
	memcpy(m->text, about.targets, m->len);
	(void)message_send(FD_MAIN, m, true);
}

/* Writes all messages to the log. Returns the errno of the last write, or 0. */
int
say_all(void)
{
	uint64_t start;
	size_t len = said_len;
	int error;

	if (len == 0)
		return 0;
	said_len = 0;
	error = log_append(said, len, &about, &start, &said_end);
	if (error != 0)
		refuse(said, len, error);
	else
		announce(start, said_end);
	about.count = 0;
	about.topic = false;
	news_value = 0;
	return error;
}

static void
add_target(uint32_t target)
{
	size_t i;

	for (i = 0; i < about.count; i++)
		if (about.targets[i] == target)
			return;
	about.targets[about.count++] = target;
}

static void
add(const char *text, size_t len)
{
	memcpy(said + said_len, text, len);
	said_len += len;
}

/* Adds a line for the log. Its time is filled in when it is written. */
void
say(const char *verb, const struct word *to, uint32_t target,
    const struct word *text)
{
	if (said_len + TIME_BYTES + LINE_BYTES + 2 > sizeof said ||
	    about.count == NEWS_TARGETS)
		(void)say_all();
	said_len += TIME_BYTES;
	add(own.prefix, own.prefix_len);
	add(verb, strlen(verb));
	add(" ", 1);
	add(to->at, to->len);
	add(" :", 2);
	add(text->at, text->len);
	add("\n", 1);
	add_target(target);
	about.topic = verb[0] == 'T';	/* it is the only line then: do_topic() */
	if (own.caps & CAP_ECHO || about.topic)
		news_value |= NEWS_SELF;
	if (own.caps & CAP_ECHO)
		wants_sync = true;
}

/* Writes all messages to the log, syncs it if the client has asked for that, and
 * then sends the replies. */
void
finish_batch(void)
{
	int error = 0;

	(void)say_all();
	if (wants_sync) {
		wants_sync = false;
		error = log_sync(said_end, own.records);
		if (error != 0) {	/* so no PONG may be sent */
			replies.len = 0;
			numeric(ERR_UNKNOWNERROR, "PING :Not on the disk: %s",
			    strerror(error));
		} else if (own.caps & CAP_ECHO) {
			to_main.type = M_KICK;
			to_main.value = 1;
			to_main.len = 0;
			tell_send(&to_main);
		}
	}
	post_replies();
}

/* Asks main, after all earlier lines. Returns 0, a numeric or an errno. */
uint32_t
ask(struct message *m, uint32_t type, const char *format, ...)
{
	va_list args;
	int len, error;

	if (type != M_FIND)
		finish_batch();
	m->type = type;
	va_start(args, format);
	len = vsnprintf(m->text, sizeof m->text, format, args);
	va_end(args);
	m->len = len < 0 ? 0 : (uint32_t)len;
	m->value = 0;
	error = message_send(FD_MAIN, m, true);
	if (error == 0)
		error = message_recv(FD_MAIN, m, true);
	if (error != 0)
		_exit(1);	/* main is gone */
	if (type != M_FIND)
		own.records = m->offset;
	return m->value;
}

/* Waits for SEND with a limit: a SEND that was stopped would never end. */
static void
wait_for_send(void)
{
	struct pollfd p = { FD_SEND, 0, 0 };
	int limit = getppid() == self.parent ? QUIT_MS + STALL_MS : STOP_MS;

	while (poll(&p, 1, limit) == -1 && errno == EINTR)
		continue;
	if (p.revents == 0)
		(void)kill(own.send_pid, SIGKILL);
	while (waitpid(own.send_pid, NULL, 0) == -1 && errno == EINTR)
		continue;
}

/* The client has gone, or quits. SEND sends the rest; then both processes end. */
_Noreturn void
leave(bool in_order, const char *why)
{
	char rest[256];
	int tries;

	finish_batch();
	to_main.type = M_QUIT;
	to_main.value = in_order;
	to_main.len = (uint32_t)copy(to_main.text, LINE_BYTES, why, strlen(why));
	(void)message_send(FD_MAIN, &to_main, true);
	wait_for_send();
	/* close with unread bytes is a reset, which may overtake what was sent.
	 * So the client's end is waited for, a little. */
	for (tries = 0; tries < 256; tries++) {
		struct pollfd p = { FD_CLIENT, POLLIN, 0 };

		if (poll(&p, 1, LINGER_MS) <= 0 ||
		    recv(FD_CLIENT, rest, sizeof rest, MSG_DONTWAIT) <= 0)
			break;
	}
	_exit(0);
}
