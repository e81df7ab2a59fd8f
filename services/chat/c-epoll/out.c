/*
 * out: lines for clients. A line is written once into the arena of the turn,
 * and for each client there is a chain of pieces of the arena, one where lines
 * follow each other; a flush gives every client its chain in one write. Only
 * what a socket does not take is copied, so an idle client holds nothing.
 */
#define LAYER L_OUT
#include "out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	ARENA_BYTES = 1 << 18,	/* a guess: a quarter of what a client may leave */
	PIECES = 1 << 16,
	VECTORS = 256,		/* a guess: pieces a write */
};

struct list written = { .which = WRITTEN };
struct list held = { .which = HELD };
static struct list dirty = { .which = DIRTY };
static char arena[2][ARENA_BYTES];	/* plain; for those with server-time */
static size_t used[2];
static struct piece pieces[PIECES];
static size_t piece_count;

/* After this, so many bytes are free in both arenas. */
static void
reserve(size_t len)
{
	if (used[0] + len <= ARENA_BYTES && used[1] + len <= ARENA_BYTES)
		return;
	flush();
	used[0] = used[1] = 0;
}

static void
put(int form, const char *text, size_t len)
{
	memcpy(arena[form] + used[form], text, len);
	used[form] += len;
}

/* A line of the log as clients get it. */
struct text
text_said(const char *line, size_t len)
{
	const char *rest = line + TIME_BYTES + 1;
	size_t rest_len = len - TIME_BYTES - 2;	/* the blank, the line feed */
	struct text text;

	reserve(len + 16);
	for (int form = 0; form < 2; form++) {
		text.form[form] = arena[form] + used[form];
		if (form == 1 && tagged_count == 0) {
			text.len[form] = 0;
			break;
		}
		if (form == 1) {
			put(form, "@time=", 6);
			put(form, line, TIME_BYTES + 1);
		}
		put(form, rest, rest_len);
		put(form, "\r\n", 2);
		text.len[form] = (size_t)(arena[form] + used[form] -
		    text.form[form]);
	}
	return text;
}

/* A line that is not in the log has one form. */
struct text
text_format(const char *fmt, va_list words)
{
	struct text text;
	int len;

	reserve(LINE_BYTES);
	text.form[0] = text.form[1] = arena[0] + used[0];
	len = vsnprintf(arena[0] + used[0], LINE_BYTES - 1, fmt, words);
	if (len > LINE_BYTES - 2)
		len = LINE_BYTES - 2;
	used[0] += (size_t)len;
	put(0, "\r\n", 2);
	text.len[0] = text.len[1] = (size_t)len + 2;
	return text;
}

struct text
text_news(const char *fmt, ...)
{
	struct text text;
	va_list words;

	va_start(words, fmt);
	text = text_format(fmt, words);
	va_end(words);
	return text;
}

/* The client's queue is written at the next flush. */
void
mark_dirty(struct conn *c)
{
	list_push(&dirty, c);
}

/* Holds a line until the disk has all that was said so far. */
static void
hold(struct conn *c, const char *text, size_t len)
{
	if (conn_deaf(c))
		return;
	list_push(&held, c);
	if (!queue_hold(&c->queue, text, len) ||
	    queue_unread(&c->queue) > LATE_BYTES)
		conn_end(c, "too much is unread", CUT);
}

static void
add_piece(struct conn *c, const char *text, size_t len)
{
	struct piece *piece;

	if (conn_deaf(c))
		return;
	if (c->queue.stalled) {
		hold(c, text, len);
		return;
	}
	if (piece_count == PIECES)
		flush();	/* the arena stays as it is */
	piece = &pieces[piece_count++];
	*piece = (struct piece){ .text = text, .len = len };
	queue_add(&c->queue, piece);
	mark_dirty(c);
}

/* Queues a text for a client. */
void
tell(struct conn *c, const struct text *text)
{
	struct queue *q = &c->queue;
	const char *form = text->form[q->tagged];
	size_t len = text->len[q->tagged];

	if (q->tail == form) {
		q->last->len += len;
		q->tail += len;
	} else
		add_piece(c, form, len);
}

/* An acknowledgement. */
void
tell_held(struct conn *c, const struct text *text)
{
	hold(c, text->form[c->queue.tagged], text->len[c->queue.tagged]);
}

/* An answer stays behind acknowledgements that are held. */
void
answer(struct conn *c, const struct text *text)
{
	if (c->queue.held.len > 0)
		tell_held(c, text);
	else
		tell(c, text);
}

static void
keep_late(struct conn *c)
{
	if (c->stream == STREAM_RESET)
		queue_forget(&c->queue);
	else if (!queue_keep(&c->queue))
		conn_end(c, "no memory", CUT);
}

/* The disk has what the covered acknowledgements waited for. */
void
release(struct conn *c)
{
	keep_late(c);	/* it was queued before */
	if (!queue_release(&c->queue, c->stream == STREAM_RESET))
		conn_end(c, "no memory", CUT);
	mark_dirty(c);
}

/* Writes what the socket takes. */
static void
write_out(struct conn *c)
{
	struct iovec vectors[VECTORS];
	size_t all;
	ssize_t len;
	int count;

	while (!c->full && c->stream != STREAM_RESET &&
	    (count = queue_gather(&c->queue, vectors, VECTORS)) > 0) {
		all = 0;
		for (int i = 0; i < count; i++)
			all += vectors[i].iov_len;
		len = writev(c->fd, vectors, count);
		if (len == -1 && errno == EINTR)
			continue;
		if (len == -1 && errno != EAGAIN) {
			conn_end(c, strerror(errno), BROKEN);
			return;
		}
		if (len > 0)
			queue_take(&c->queue, (size_t)len);
		if (len > 0 && c->state == THROTTLED)
			c->heard_ms = now_ms;	/* it reads, as it should */
		c->full = len < (ssize_t)all;	/* epoll tells */
	}
}

/* Writes the queues, and puts each connection on the list `written`. */
void
flush(void)
{
	struct conn *c;

	while ((c = list_pop(&dirty)) != NULL) {
		write_out(c);
		keep_late(c);
		if (queue_unread(&c->queue) > LATE_BYTES)
			conn_end(c, "too much is unread", CUT);
		list_append(&written, c);
	}
	piece_count = 0;
}
