/*
 * queue: all that waits for one socket. Nothing here writes to it.
 */
#define LAYER L_QUEUE
#include "queue.h"

#include <string.h>

void
queue_add(struct queue *q, struct piece *piece)
{
	if (q->first == NULL)
		q->first = piece;
	else
		q->last->next = piece;
	q->last = piece;
	q->tail = piece->text + piece->len;
}

/* Fills vectors with the late bytes and the pieces; returns how many it used. */
int
queue_gather(const struct queue *q, struct iovec *vectors, int size)
{
	int count = 0;

	if (q->late.len > 0)
		vectors[count++] = (struct iovec){
		    q->late.bytes + q->late.start, q->late.len };
	for (const struct piece *p = q->first; p != NULL && count < size;
	    p = p->next)
		vectors[count++] = (struct iovec){
		    (void *)(uintptr_t)p->text, p->len };
	return count;
}

/* Takes what was written from the late bytes and the pieces. */
void
queue_take(struct queue *q, size_t len)
{
	size_t part = len < q->late.len ? len : q->late.len;

	if (part > 0) {
		q->torn = q->late.bytes[q->late.start + part - 1] != '\n';
		buffer_drop(&q->late, part);
		len -= part;
	}
	while (len > 0) {
		struct piece *p = q->first;

		part = len < p->len ? len : p->len;
		q->torn = p->text[part - 1] != '\n';
		p->text += part;
		p->len -= part;
		len -= part;
		if (p->len == 0)
			q->first = p->next;
	}
}

/* The pieces that were not written are late. False: not all, without memory. */
bool
queue_keep(struct queue *q)
{
	bool all = true;

	for (; q->first != NULL; q->first = q->first->next)
		if (!buffer_add(&q->late, q->first->text, q->first->len))
			all = false;
	q->tail = NULL;
	return all;
}

/* Removes the pieces. */
void
queue_forget(struct queue *q)
{
	q->first = NULL;
	q->tail = NULL;
}

/* Adds a line that is held until the disk has all that was said so far. */
bool
queue_hold(struct queue *q, const char *text, size_t len)
{
	q->stalled = q->echo;
	q->tail = NULL;
	return buffer_add(&q->held, text, len);
}

/*
 * The disk has what the covered part waited for. That part is late now, or
 * removed if nothing can be written any more.
 */
bool
queue_release(struct queue *q, bool broken)
{
	bool done = broken || q->covered == 0 || buffer_add(&q->late,
	    q->held.bytes + q->held.start, q->covered);

	buffer_drop(&q->held, q->covered);
	q->covered = 0;
	q->stalled = q->echo && q->held.len > 0;
	return done;
}

/* Removes all acknowledgements. */
void
queue_refuse(struct queue *q)
{
	buffer_drop(&q->held, q->held.len);
	q->covered = 0;
}

/* Keeps nothing but the rest of a line of which the socket has taken a part. */
void
queue_cut(struct queue *q)
{
	const char *late = q->late.bytes + q->late.start;
	const char *lf = q->torn ? memchr(late, '\n', q->late.len) : NULL;
	struct buffer rest = { 0 };

	if (lf == NULL || !buffer_add(&rest, late, (size_t)(lf + 1 - late)))
		q->torn = false;
	buffer_drop(&q->late, q->late.len);
	queue_refuse(q);
	q->late = rest;
}

size_t
queue_unread(const struct queue *q)
{
	return q->late.len + q->held.len;
}

bool
queue_empty(const struct queue *q)
{
	return queue_unread(q) == 0 && q->first == NULL;
}
