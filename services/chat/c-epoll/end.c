/*
 * end: how a client ends, in steps. Others hear of it at once, but the socket
 * lives until the client has read all that was for it, or never will. Only then
 * is it known how much it has received.
 */
#define LAYER L_END
#include "end.h"

#include <sys/socket.h>

#include "log.h"
#include "missed.h"
#include "ping.h"
#include "record.h"
#include "room.h"

enum {
	LINGER_MS = 30000,	/* a guess: to read what was for it */
	CLOSE_MS = 1500,	/* of the 2 s in which the server ends */
	BUSY = 1 << AGAIN | 1 << READING | 1 << HELD | 1 << DIRTY |
	    1 << WRITTEN,	/* lists that are walked later */
};

bool stopping;
static struct list lingering = { .which = ENDED };

/* Tells others that it has left. Its nick stays a member of its rooms. */
static void
leave(struct client *c)
{
	struct nick *nick = c->member.nick;
	bool in_order = c->conn.how == QUIT || c->conn.how == CLOSED;
	struct text text;

	if (!stopping) {
		text = news("%s QUIT :%s", c->login.prefix, c->conn.why);
		neighbours_tell(c, &text);
	}
	for (struct member *m = nick->inbox.next; m != NULL; m = m->next)
		if (m->here)
			room_exit(m);
	if (nick->inbox.live)
		nick->inbox.sent = record.end;
	nick->inbox.here = nick->inbox.live = false;
	c->member.behind = NULL;
	nick->client = NULL;
	if (in_order && !conn_all_read(&c->conn))
		nick->leaving = c;	/* it may yet turn out */
	else
		settle(nick, in_order);
}

/*
 * Sends an ERROR to the clients that end with this turn, and gives them time to
 * read it. True: there were any.
 */
bool
reap(void)
{
	bool any = ending.first != NULL;
	struct client *c;

	while (ending.first != NULL) {
		c = client_of(list_pop(&ending));
		commit();
		if (c->member.nick != NULL)
			leave(c);
		owe_nothing(c);
		if (queue_unread(&c->conn.queue) > LATE_BYTES)
			queue_cut(&c->conn.queue);
		if (c->conn.how != CLOSED && c->conn.stream != STREAM_RESET)
			reply(c, "ERROR :%s", c->conn.why);
		c->conn.state = LINGERING;
		buffer_drop(&c->input.carry, c->input.carry.len);
		c->conn.heard_ms = now_ms;
		list_push(&lingering, &c->conn);
		if (c->conn.readable)
			conn_drain(&c->conn);
		if (ending.first == NULL)
			flush();
	}
	go_on();
	return any;
}

/* Whether its end is over. */
static bool
is_over(struct client *c)
{
	struct conn *conn = &c->conn;
	struct nick *nick = c->member.nick;
	bool broken = conn->stream == STREAM_RESET;
	bool late = now_ms - conn->heard_ms >=
	    (stopping ? CLOSE_MS : LINGER_MS);
	bool all_read = conn_all_read(conn);

	if (broken)
		buffer_drop(&conn->queue.held, conn->queue.held.len);
	else if (queue_unread(&conn->queue) == 0 && conn->state != SHUT) {
		shutdown(conn->fd, SHUT_WR);
		conn->state = SHUT;
	}
	if ((conn->on & BUSY) != 0)
		return false;
	if (!broken && !late && !(conn->stream == STREAM_EOF && all_read))
		return false;
	if (nick != NULL && nick->leaving == c)
		settle(nick, !broken && (all_read || !stopping));
	return true;
}

/* Closes the clients whose end is over; true if there are others. */
bool
lingers(void)
{
	struct conn *conn = lingering.first, *next;

	for (; conn != NULL; conn = next) {
		next = list_next(&lingering, conn);
		if (!is_over(client_of(conn)))
			continue;
		list_remove(&lingering, conn);
		client_free(client_of(conn));
	}
	return lingering.first != NULL;
}
