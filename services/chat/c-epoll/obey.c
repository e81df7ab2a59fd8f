/*
 * obey: what a client sends is cut into lines, and these are obeyed.
 */
#define LAYER L_OBEY
#include "obey.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "join.h"
#include "log.h"
#include "missed.h"

enum {
	READ_BYTES = 16384,	/* a guess: of one client in a turn */
	HELD_BYTES = READ_BYTES + TAGS_BYTES + LINE_BYTES,
	REGISTER_MS = 30000,
	SILENT_MS = 90000,	/* then it is asked */
	DEAD_MS = 120000,
	STUCK_MS = 5000,	/* a guess: not reading what it asked for */
};

/* One line, without its end; false if it has to wait. */
static bool
obey_line(struct client *c, char *line, size_t len)
{
	const struct command *command;
	char *name, *rest, saved;

	if (memchr(line, '\0', len) != NULL) {
		conn_end(&c->conn, "NUL in a line", CUT);
		return true;
	}
	if (too_long(line, len)) {
		reply(c, ":chat 417 %s :The line is too long", client_name(c));
		return true;
	}
	if (len > 0 && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	/* Elsewhere some readers would take it for an end: it is a blank. */
	for (char *cr = line; (cr = strchr(cr, '\r')) != NULL;)
		*cr = ' ';
	name = command_of(line);
	if (*name == '\0')
		return true;
	rest = name + strcspn(name, " ");
	saved = *rest;
	*rest = '\0';
	command = command_find(name);
	if (command_waits(command, c)) {
		*rest = saved;
		return false;
	}
	command_do(command, c, name, saved != '\0' ? rest + 1 : rest);
	return true;
}

/*
 * Obeys whole lines; returns how many bytes are done with. A client that must
 * wait for its acknowledgements, or does not read, is not obeyed any further.
 */
static size_t
obey_lines(struct client *c, char *bytes, size_t len)
{
	char *line = bytes, *end = bytes + len, *lf, kept;

	while (conn_stays(&c->conn) &&
	    (lf = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		if (c->conn.queue.late.len > EASE_BYTES || !join_rest(c)) {
			conn_throttle(&c->conn, true);
			return (size_t)(line - bytes);
		}
		kept = lf > line ? lf[-1] : '\0';
		if (!c->input.skipping &&
		    !obey_line(c, line, (size_t)(lf - line))) {
			*lf = '\n';
			if (lf > line)
				lf[-1] = kept;	/* the carriage return */
			conn_throttle(&c->conn, true);
			return (size_t)(line - bytes);
		}
		c->input.skipping = false;
		if (c->member.nick != NULL)
			c->conn.heard_ms = now_ms;
		c->alive.prodded = false;
		line = lf + 1;
	}
	if (c->input.skipping)
		return len;
	if (conn_stays(&c->conn) && too_long(line, (size_t)(end - line))) {
		c->input.skipping = true;
		reply(c, ":chat 417 %s :The line is too long", client_name(c));
		return len;
	}
	return (size_t)(line - bytes);
}

/* The stream has ended: in order, unless a reset came after. */
static void
end_of_stream(struct conn *c)
{
	socklen_t len = sizeof(int);
	int error = 0;

	c->readable = false;
	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error != 0 || c->stream == STREAM_RESET)
		conn_end(c, "Connection reset", BROKEN);
	else {
		c->stream = STREAM_EOF;
		conn_end(c, "Connection closed", CLOSED);
	}
}

/* Reads behind len bytes; returns how many there are then. */
static size_t
read_more(struct conn *c, char *bytes, size_t len)
{
	ssize_t more = read(c->fd, bytes + len, READ_BYTES);

	if (more > 0) {
		if (more < READ_BYTES && c->stream == STREAM_OPEN)
			c->readable = false;
		return len + (size_t)more;
	}
	if (more == 0)
		end_of_stream(c);
	else if (errno == EAGAIN)
		c->readable = false;
	else if (errno != EINTR)
		conn_end(c, strerror(errno), BROKEN);
	return len;
}

/* A step of a client: obeys the lines that are there, then those that it sends now. */
void
obey(struct client *c)
{
	static char bytes[HELD_BYTES * 2];
	struct conn *conn = &c->conn;
	struct buffer *carry = &c->input.carry;
	size_t len = carry->len, all, done = 0;

	conn_throttle(conn, !join_rest(c));
	if (len > 0)
		memcpy(bytes, carry->bytes + carry->start, len);
	if (conn->state == ACTIVE)
		done = obey_lines(c, bytes, len);
	if (conn->state == ACTIVE && conn->readable) {
		all = read_more(conn, bytes, len);
		if (all > len)
			done += obey_lines(c, bytes + done, all - done);
		len = all;
	}
	buffer_drop(carry, carry->len);
	if (conn_stays(conn) && done < len &&
	    !buffer_add(carry, bytes + done, len - done))
		conn_end(conn, "no memory", CUT);
	if (conn->state == ACTIVE && conn->readable)
		list_push(&again, conn);
}

/* Does what epoll tells of a client. */
void
ready(struct client *c, uint32_t events)
{
	struct conn *conn = &c->conn;

	if (events & EPOLLOUT && conn->full) {
		conn->full = false;
		mark_dirty(conn);
	}
	if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)))
		return;
	conn->readable = true;
	if (events & EPOLLERR)
		conn->stream = STREAM_RESET;
	else if (events & (EPOLLRDHUP | EPOLLHUP) &&
	    conn->stream == STREAM_OPEN)
		conn->stream = STREAM_EOF;	/* to be read up to it */
	if (conn_deaf(conn))
		conn_drain(conn);
	else if (conn->state == ACTIVE && !list_has(&again, conn))
		obey(c);
}

/* Once a second: clients that do not register, or are silent. */
void
sweep(void)
{
	struct conn *conn;

	for (conn = clients.first; conn != NULL;
	    conn = list_next(&clients, conn)) {
		struct client *c = client_of(conn);
		bool registered = c->member.nick != NULL;
		int64_t silent = now_ms - conn->heard_ms;

		if (!conn_stays(conn))
			continue;
		missed_go_on(c);
		if (conn->state == THROTTLED && c->member.behind != NULL)
			list_push(&again, conn);	/* a PING waits no longer */
		if (silent >= (registered ? DEAD_MS : REGISTER_MS))
			conn_end(conn, registered ? "Ping timeout" :
			    "Registration timed out", CUT);
		else if (conn->queue.late.len > EASE_BYTES &&
		    conn->state == THROTTLED && silent >= STUCK_MS)
			conn_end(conn, "You do not read", CUT);
		else if (registered && silent >= SILENT_MS &&
		    !c->alive.prodded) {
			struct text text = news("PING :0");

			tell(conn, &text);
			c->alive.prodded = true;
		}
	}
}
