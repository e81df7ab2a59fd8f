/*
 * missed: what a client has missed is read from the log, a piece at a time,
 * when its socket has taken the piece before, and never beyond what this server
 * has written whole. So whoever was away for a gigabyte costs one piece, and
 * others wait for no more than a few. There is no index of rooms: who missed one
 * line in a million has it after 0.2 to 0.4 s. (Who reads the file from outside,
 * to its end, may see half of a write: the file grows page by page.)
 */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "chat.h"

enum {
	PIECE_BYTES = 65536,	/* a guess: a socket takes it at once */
	PIECES = 8,		/* a guess: in a turn, about half a millisecond */
};

static char piece[PIECE_BYTES];
static struct client *first, *last;	/* who may have another piece */

bool
missed_waits(void)
{
	return first != NULL;
}

/* The socket has taken what there was. */
void
missed_go_on(struct client *c)
{
	if (c->behind == NULL || c->reading || c->deaf)
		return;
	c->reading = true;
	c->reading_next = NULL;
	*(first != NULL ? &last->reading_next : &first) = c;
	last = c;
}

/* Looks for something that a client has missed and does not read yet. */
void
missed_begin(struct client *c)
{
	struct member *m = &c->nick->inbox;

	if (c->behind != NULL)
		return;
	while (m != NULL && (!m->here || m->live))
		m = m->next;
	c->behind = m;
	c->behind_ms = now_ms;
	missed_go_on(c);
}

/* Compares the word at *at with a name, and goes to the next word. */
static bool
is_word(const char **at, const char *end, const char *name)
{
	const char *word = *at;
	const char *blank = memchr(word, ' ', (size_t)(end - word));
	size_t len;

	if (blank == NULL)
		return false;
	*at = blank + 1;
	len = (size_t)(blank - word);
	return name != NULL && strlen(name) == len &&
	    strncasecmp(word, name, len) == 0;
}

enum line { SKIP, SEND, WAIT };

/* What to do with a line of the log for one who catches up. */
static enum line
judge(const struct member *m, const char *line, size_t len)
{
	const struct client *c = m->nick->client;
	const char *name = m->nick->name.text;
	size_t name_len = strlen(name);
	const char *at = line + TIME_BYTES + 2, *end = line + len;
	const char *author = at;

	if (len < TIME_BYTES + 4 || at[-1] != ':')
		return SKIP;
	is_word(&at, end, NULL);	/* the author */
	is_word(&at, end, NULL);	/* the command */
	if (!is_word(&at, end, m->room != NULL ? m->room->name.text : name))
		return SKIP;
	if (m->room == NULL || (size_t)(at - author) <= name_len ||
	    strncasecmp(author, name, name_len) != 0 ||
	    author[name_len] != '!')
		return SEND;
	/* What it has said itself it knows, unless it waits for the echo. */
	if (!c->echo || m->sent < m->since)
		return SKIP;
	return m->sent + (off_t)len > record.synced ? WAIT : SEND;
}

/* Sends what concerns a member in the piece; false if it must wait. */
static bool
send_piece(struct member *m, size_t len)
{
	struct client *c = m->nick->client;
	char *line = piece, *lf;

	while ((lf = memchr(line, '\n', len)) != NULL) {
		size_t line_len = (size_t)(lf + 1 - line);
		enum line what = m->sent >= m->since && m->sent < m->skip ?
		    SKIP : judge(m, line, line_len);

		if (what == WAIT) {
			sync_begin(true);
			return false;
		}
		m->sent += (off_t)line_len;
		if (what == SEND) {
			struct text text = said_text(line, line_len);

			queue(c, &text);
			owe(c);
		}
		line += line_len;
		len -= line_len;
	}
	if (line == piece && len == PIECE_BYTES)
		m->sent += (off_t)len;	/* no line of ours is as long */
	return true;
}

/* Another piece for a client; true if there may be more at once. */
static bool
read_piece(struct client *c)
{
	struct member *m = c->behind;
	off_t left, at;
	ssize_t len = 0;

	if (m->sent < record.floor)
		m->sent = record.floor;
	left = record.end - m->sent;
	if (left > 0) {
		if (left > PIECE_BYTES)
			left = PIECE_BYTES;
		len = pread(record.fd, piece, (size_t)left,
		    m->sent - record.base);
		at = m->sent;
		if (len <= 0 || !send_piece(m, (size_t)len) || m->sent == at)
			return false;	/* the next second tries again */
	}
	if (m->sent == record.end) {
		room_live(m);
		c->behind = NULL;
		missed_begin(c);
		if (c->end_as == STAYS)
			join_rest(c);	/* of several rooms, the next */
		if (c->waiting)
			run_again(c);
		return false;
	}
	return true;
}

void
missed_read(void)
{
	struct client *c;

	for (int i = 0; i < PIECES && (c = first) != NULL; i++) {
		first = c->reading_next;
		c->reading = false;
		if (c->behind != NULL && !c->deaf && !c->stalled &&
		    c->late.len == 0 && read_piece(c))
			missed_go_on(c);
	}
}
