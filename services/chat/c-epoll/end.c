/*
 * end: how a client ends, in steps. Others hear of it at once, but the socket
 * lives until the client has read what was for it, or never will: only then is
 * it known what it has received.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chat.h"

enum {
	SCRAP_BYTES = 16384,
	LINGER_MS = 30000,	/* a guess: to read what was for it */
	CLOSE_MS = 1500,	/* of the 2 s in which the server ends */
};

static struct client *doomed, *lingering;

/* A client that ends: what it still sends is read away, until its end. */
void
drain(struct client *c)
{
	static char scrap[SCRAP_BYTES];
	ssize_t len;

	do
		len = read(c->fd, scrap, sizeof scrap);
	while (len > 0 || (len == -1 && errno == EINTR));
	c->eof = c->eof || len == 0;
	c->reset = c->reset || (len == -1 && errno != EAGAIN);
}

/* It ends with this turn. */
void
doom(struct client *c, const char *why, enum end how)
{
	if (how == BROKEN)
		c->reset = true;
	if (c->end_as != STAYS)
		return;
	c->end_as = how;
	c->why = must(strdup(why));
	c->doomed_next = doomed;
	doomed = c;
}

static bool
all_is_read(const struct client *c)
{
	int unread = 1;

	return !c->reset && c->late.len == 0 && c->held.len == 0 &&
	    c->first == NULL && ioctl(c->fd, SIOCOUTQ, &unread) == 0 &&
	    unread == 0;
}

/* Now it is known whether the last client of a nick had what it was sent. */
void
settle(struct nick *nick, bool received)
{
	nick->leaving = NULL;
	for (struct member *m = &nick->inbox; m != NULL; m = m->next)
		if (received)
			member_received(m, m->sent);
		else
			m->sent = m->received;
}

/* Others hear that it has left; where it was is remembered. */
static void
leave(struct client *c)
{
	struct nick *nick = c->nick;
	struct text text;

	if (!ending) {
		text = news("%s QUIT :%s", c->prefix, c->why);
		neighbours_tell(c, &text);
	}
	for (struct member *m = nick->inbox.next; m != NULL; m = m->next)
		if (m->here)
			room_exit(m);
	if (nick->inbox.live)
		nick->inbox.sent = record.end;
	nick->inbox.here = nick->inbox.live = false;
	c->behind = NULL;
	nick->client = NULL;
	if (c->end_as == LEFT && !all_is_read(c))
		nick->leaving = c;	/* it may yet turn out */
	else
		settle(nick, c->end_as == LEFT);
}

/* Of what a client has not read it keeps the rest of a line that has begun. */
static void
cut(struct client *c)
{
	const char *late = c->late.bytes + c->late.start;
	const char *lf = c->torn ? memchr(late, '\n', c->late.len) : NULL;
	struct buffer rest = { 0 };

	if (lf == NULL || !buffer_add(&rest, late, (size_t)(lf + 1 - late)))
		c->torn = false;
	buffer_drop(&c->late, c->late.len);
	buffer_drop(&c->held, c->held.len);
	c->covered = 0;
	c->late = rest;
}

/* Those who end with this turn: they get an ERROR, and time to read it. */
bool
reap(void)
{
	bool any = doomed != NULL;
	struct client *c;

	while ((c = doomed) != NULL) {
		doomed = c->doomed_next;
		commit();
		if (c->nick != NULL)
			leave(c);
		owe_nothing(c);
		if (c->late.len + c->held.len > LATE_BYTES)
			cut(c);
		if (!c->hung_up && !c->reset)
			reply(c, "ERROR :%s", c->why);
		c->deaf = true;
		c->waiting = false;
		buffer_drop(&c->carry, c->carry.len);
		c->heard = now_ms;
		c->linger_next = lingering;
		lingering = c;
		if (c->readable)
			drain(c);
		if (doomed == NULL)
			flush();
	}
	return any;
}

static void
free_client(struct client *c)
{
	*(c->prev != NULL ? &c->prev->next : &clients) = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	client_count--;
	tagged_count -= c->tagged;
	buffer_drop(&c->late, c->late.len);
	close(c->fd);
	free(c->wish);
	free(c->joins);
	free(c->user);
	free(c->real);
	free(c->pass);
	free(c->prefix);
	free(c->why);
	free(c);
}

/* Whether its end is over. */
static bool
is_over(struct client *c)
{
	bool late = now_ms - c->heard >= (ending ? CLOSE_MS : LINGER_MS);
	bool read_all = all_is_read(c);

	if (c->reset)
		buffer_drop(&c->held, c->held.len);
	else if (c->late.len == 0 && c->held.len == 0 && !c->shut) {
		shutdown(c->fd, SHUT_WR);
		c->shut = true;
	}
	if (c->again || c->reading || c->holding || c->dirty)
		return false;	/* others would stumble over it */
	if (!c->reset && !late && !(c->eof && read_all))
		return false;
	if (c->nick != NULL && c->nick->leaving == c)
		settle(c->nick, !c->reset && (read_all || !ending));
	return true;
}

/* Closes those whose end is over; true if there are others. */
bool
lingers(void)
{
	struct client **at = &lingering, *c;

	while ((c = *at) != NULL)
		if (is_over(c)) {
			*at = c->linger_next;
			free_client(c);
		} else
			at = &c->linger_next;
	return lingering != NULL;
}
