/*
 * missed: messages that a client has missed are read from the log, a piece at a
 * time, when its socket has taken the piece before, and never beyond what this
 * server has written whole. So a client that was away for a gigabyte costs one piece,
 * and others wait for no more than a few. There is no index of rooms: a client
 * that missed one line in a million has it after 0.2 to 0.4 s. (A program that
 * reads the file to its end may see half of a write: the file grows page by
 * page.)
 */
#define LAYER L_MISSED
#include "missed.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "out.h"
#include "ping.h"
#include "record.h"
#include "room.h"
#include "sync.h"

enum {
	PIECE_BYTES = 65536,	/* a guess: a socket takes it at once */
};

static char piece[PIECE_BYTES];
static struct list reading = { .which = READING };	/* may have a piece */

bool
missed_waits(void)
{
	return reading.first != NULL;
}

/* The socket has taken what there was. */
void
missed_go_on(struct client *c)
{
	if (c->member.behind != NULL && !conn_deaf(&c->conn))
		list_append(&reading, &c->conn);
}

/* Looks for something that a client has missed and does not read yet. */
void
missed_begin(struct client *c)
{
	struct member *m = &c->member.nick->inbox;

	if (c->member.behind != NULL)
		return;
	while (m != NULL && (!m->here || m->live))
		m = m->next;
	c->member.behind = m;
	c->member.behind_ms = now_ms;
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

/* The use of a line of the log for a member that catches up. */
static enum line
judge(const struct member *m, const char *line, size_t len)
{
	const struct queue *q = &m->nick->client->conn.queue;
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
	/* A client knows what it has said, unless it waits for the echo. */
	if (!q->echo || m->sent < m->since)
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
			struct text text = text_said(line, line_len);

			tell(&c->conn, &text);
			owe(c);
		}
		line += line_len;
		len -= line_len;
	}
	if (line == piece && len == PIECE_BYTES)
		m->sent += (off_t)len;	/* no line of ours is as long */
	return true;
}

/* Queues another piece of the log; false if there is none to be had now. */
static bool
read_piece(struct member *m)
{
	off_t left = record.end - m->sent, at = m->sent;
	ssize_t len;

	if (left > PIECE_BYTES)
		left = PIECE_BYTES;
	len = pread(record.fd, piece, (size_t)left, at - record.base);
	return len > 0 && send_piece(m, (size_t)len) && m->sent != at;
}

/* The next client that may have another piece, or NULL. */
struct client *
missed_next(void)
{
	go_on();
	return reading.first != NULL ? client_of(list_pop(&reading)) : NULL;
}

/*
 * Queues another piece for a client, if its queue is empty. True if it has
 * caught up in a room, and reads the next one, if it is behind there.
 */
bool
missed_read(struct client *c)
{
	struct member *m = c->member.behind;

	if (m == NULL || conn_deaf(&c->conn) || c->conn.queue.stalled ||
	    c->conn.queue.late.len > 0)
		return false;
	if (m->sent < record.floor)
		m->sent = record.floor;
	if (m->sent < record.end && !read_piece(m))
		return false;	/* the next second tries again */
	if (m->sent != record.end) {
		missed_go_on(c);
		return false;
	}
	room_live(m);
	c->member.behind = NULL;
	missed_begin(c);
	return true;
}

/* Clients whose queues were written may go on: to read, and to be obeyed. */
void
go_on(void)
{
	while (written.first != NULL) {
		struct client *c = client_of(list_pop(&written));
		const struct queue *q = &c->conn.queue;

		if (q->late.len == 0)
			missed_go_on(c);
		if (c->conn.state == THROTTLED && q->late.len <= EASE_BYTES &&
		    q->held.len == 0 && c->member.behind == NULL)
			list_push(&again, &c->conn);
	}
}
