/*
 * out: what goes to clients. A line is written once into the arena of the
 * turn, and for each client there is a chain of pieces of the arena, one where
 * lines follow each other; a flush gives every client its chain in one write.
 * Only what a socket does not take is copied, so an idle client holds nothing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "chat.h"

enum {
	ARENA_BYTES = 1 << 18,	/* a guess: a quarter of what a client may leave */
	PIECES = 1 << 16,
	VECTORS = 256,		/* a guess: pieces a write */
};

static char arena[2][ARENA_BYTES];	/* plain; for those with server-time */
static size_t used[2];
static struct piece pieces[PIECES];
static size_t piece_count;
static struct client *dirty;

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
said_text(const char *line, size_t len)
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

static struct text
format(const char *fmt, va_list words)
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

/* A line that is not in the log, for any number of clients. */
struct text
news(const char *fmt, ...)
{
	struct text text;
	va_list words;

	commit();
	va_start(words, fmt);
	text = format(fmt, words);
	va_end(words);
	return text;
}

/*
 * An answer to what the client said: behind what it was answered before, and
 * what others said before is with everybody.
 */
void
reply(struct client *c, const char *fmt, ...)
{
	struct text text;
	va_list words;

	commit();
	va_start(words, fmt);
	text = format(fmt, words);
	va_end(words);
	if (c->held.len > 0)
		hold(c, text.form[0], text.len[0]);
	else
		queue(c, &text);
}

void
mark_dirty(struct client *c)
{
	if (c->dirty)
		return;
	c->dirty = true;
	c->dirty_next = dirty;
	dirty = c;
}

static void
add_piece(struct client *c, const char *text, size_t len)
{
	struct piece *piece;

	if (c->deaf)
		return;
	if (c->stalled) {
		hold(c, text, len);
		return;
	}
	if (piece_count == PIECES)
		flush();	/* the arena stays as it is */
	piece = &pieces[piece_count++];
	*piece = (struct piece){ .text = text, .len = len };
	if (c->first == NULL)
		c->first = piece;
	else
		c->last->next = piece;
	c->last = piece;
	c->tail = text + len;
	mark_dirty(c);
}

void
queue(struct client *c, const struct text *text)
{
	const char *form = text->form[c->tagged];
	size_t len = text->len[c->tagged];

	if (c->tail == form) {
		c->last->len += len;
		c->tail += len;
	} else
		add_piece(c, form, len);
}

/* What is not written is late. */
void
keep_late(struct client *c)
{
	for (; c->first != NULL; c->first = c->first->next)
		if (!c->reset && !buffer_add(&c->late, c->first->text,
		    c->first->len))
			doom(c, "no memory", CUT);
	c->tail = NULL;
}

/* Fills vectors with what is late and the pieces; returns how many. */
static int
gather(const struct client *c, struct iovec *vectors)
{
	int count = 0;

	if (c->late.len > 0)
		vectors[count++] = (struct iovec){
		    c->late.bytes + c->late.start, c->late.len };
	for (const struct piece *p = c->first; p != NULL && count < VECTORS;
	    p = p->next)
		vectors[count++] = (struct iovec){
		    (void *)(uintptr_t)p->text, p->len };
	return count;
}

/* Takes what was written from the late bytes and the pieces. */
static void
take(struct client *c, size_t len)
{
	size_t part = len < c->late.len ? len : c->late.len;

	if (part > 0) {
		c->torn = c->late.bytes[c->late.start + part - 1] != '\n';
		buffer_drop(&c->late, part);
		len -= part;
	}
	while (len > 0) {
		struct piece *p = c->first;

		part = len < p->len ? len : p->len;
		c->torn = p->text[part - 1] != '\n';
		p->text += part;
		p->len -= part;
		len -= part;
		if (p->len == 0)
			c->first = p->next;
	}
}

/* Writes what the socket takes. */
static void
write_out(struct client *c)
{
	struct iovec vectors[VECTORS];
	size_t all;
	ssize_t written;
	int count;

	while (!c->full && !c->reset && (count = gather(c, vectors)) > 0) {
		all = 0;
		for (int i = 0; i < count; i++)
			all += vectors[i].iov_len;
		written = writev(c->fd, vectors, count);
		if (written == -1 && errno == EINTR)
			continue;
		if (written == -1 && errno != EAGAIN) {
			c->reset = true;
			doom(c, strerror(errno), BROKEN);
			return;
		}
		if (written > 0)
			take(c, (size_t)written);
		if (written > 0 && c->waiting)
			c->heard = now_ms;	/* we do not listen, it does */
		c->full = written < (ssize_t)all;	/* epoll tells */
	}
}

static void
flush_client(struct client *c)
{
	write_out(c);
	keep_late(c);
	if (c->late.len + c->held.len > LATE_BYTES)
		doom(c, "too much is unread", CUT);
	if (c->late.len == 0)
		missed_go_on(c);
	if (c->waiting && c->late.len <= EASE_BYTES && c->held.len == 0 &&
	    c->behind == NULL)
		run_again(c);
}

void
flush(void)
{
	struct client *c;

	while ((c = dirty) != NULL) {
		dirty = c->dirty_next;
		c->dirty = false;
		flush_client(c);
	}
	piece_count = 0;
}
