/*
 * conn: the state of a connection, and the lists that it is on.
 */
#define LAYER L_CONN
#include "conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "table.h"

enum {
	SCRAP_BYTES = 16384,
};

int64_t now_ms;
uint32_t tagged_count;
struct list again = { .which = AGAIN };
struct list ending = { .which = ENDED };

/* Puts a connection first, unless it is on the list. */
void
list_push(struct list *list, struct conn *c)
{
	struct link *link = &c->links[list->which];

	if (list_has(list, c))
		return;
	c->on |= 1u << list->which;
	link->prev = NULL;
	link->next = list->first;
	if (list->first != NULL)
		list->first->links[list->which].prev = c;
	else
		list->last = c;
	list->first = c;
}

/* Puts a connection last, unless it is on the list. */
void
list_append(struct list *list, struct conn *c)
{
	struct link *link = &c->links[list->which];

	if (list_has(list, c))
		return;
	c->on |= 1u << list->which;
	link->next = NULL;
	link->prev = list->last;
	if (list->last != NULL)
		list->last->links[list->which].next = c;
	else
		list->first = c;
	list->last = c;
}

void
list_remove(struct list *list, struct conn *c)
{
	struct link *link = &c->links[list->which];

	if (!list_has(list, c))
		return;
	c->on &= ~(1u << list->which);
	*(link->prev != NULL ? &link->prev->links[list->which].next :
	    &list->first) = link->next;
	*(link->next != NULL ? &link->next->links[list->which].prev :
	    &list->last) = link->prev;
}

/* Removes the first connection and returns it; NULL: there is none. */
struct conn *
list_pop(struct list *list)
{
	struct conn *c = list->first;

	if (c != NULL)
		list_remove(list, c);
	return c;
}

struct conn *
list_next(const struct list *list, const struct conn *c)
{
	return c->links[list->which].next;
}

/*
 * Returns the list and leaves it empty, so that it can be popped while it grows
 * anew. A connection that has not been popped yet still counts as on it.
 */
struct list
list_take(struct list *list)
{
	struct list all = *list;

	list->first = list->last = NULL;
	return all;
}

/* Whether it is a client still, for itself and for others. */
bool
conn_stays(const struct conn *c)
{
	return c->state < ENDING;
}

/* Whether nothing more is queued for the client. */
bool
conn_deaf(const struct conn *c)
{
	return c->state >= LINGERING;
}

void
conn_throttle(struct conn *c, bool throttled)
{
	if (conn_stays(c))
		c->state = throttled ? THROTTLED : ACTIVE;
}

void
conn_tag(struct conn *c, bool tagged)
{
	tagged_count += tagged;
	tagged_count -= c->queue.tagged;
	c->queue.tagged = tagged;
}

/* The client ends with this turn. Its first end counts. */
void
conn_end(struct conn *c, const char *why, enum how how)
{
	if (how == BROKEN)
		c->stream = STREAM_RESET;
	if (!conn_stays(c))
		return;
	c->state = ENDING;
	c->how = how;
	c->why = must(strdup(why));
	list_push(&ending, c);
}

/* Reads away what a client that ends still sends, until its end. */
void
conn_drain(struct conn *c)
{
	static char scrap[SCRAP_BYTES];
	ssize_t len;

	do
		len = read(c->fd, scrap, sizeof scrap);
	while (len > 0 || (len == -1 && errno == EINTR));
	if (len == -1 && errno != EAGAIN)
		c->stream = STREAM_RESET;
	else if (len == 0 && c->stream == STREAM_OPEN)
		c->stream = STREAM_EOF;
}

/* Whether the client's kernel has acknowledged all that was queued. */
bool
conn_all_read(const struct conn *c)
{
	int unread = 1;

	return c->stream != STREAM_RESET && queue_empty(&c->queue) &&
	    ioctl(c->fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}
