/*
 * log: DATA/log holds every message in the order in which all see it. Messages
 * are gathered, written at once and only then delivered: a message that a client
 * has seen is in the log.
 */
#define LAYER L_LOG
#include "log.h"

#include <string.h>
#include <time.h>

#include "keep.h"
#include "ping.h"
#include "record.h"
#include "snapshot.h"
#include "sync.h"

enum {
	BATCH_BYTES = 65536,	/* a guess: one write */
	SAYINGS = 1024,		/* the shortest that fill a batch, about */
	ENTRY_BYTES = TIME_BYTES + 1 + LINE_BYTES,	/* of one line */
};

/* A message that waits for the write of its batch. */
struct saying {
	struct client	*from;
	struct room	*room;		/* or */
	struct nick	*nick;
	size_t		 start, len;	/* in the batch */
	bool		 message;	/* else a topic, which goes to its author */
	bool		 notice;
};

static char batch[BATCH_BYTES];
static size_t filled;
static struct saying sayings[SAYINGS];
static size_t saying_count;

/* Universal time, as the log has it. */
static const char *
time_now(void)
{
	static char text[TIME_BYTES + 1];
	static int64_t made = -1;
	struct timespec now;
	struct tm tm;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	if (ms == made)
		return text;
	if (ms / 1000 != made / 1000 || made == -1) {
		gmtime_r(&now.tv_sec, &tm);
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", &tm);
	}
	made = ms;
	for (char *digit = text + 22; digit > text + 19; ms /= 10)
		*digit-- = (char)('0' + ms % 10);
	return text;
}

/* Whether the log is where it was; if not, tries to have it back. */
static const char *
find_again(void)
{
	const char *reason;

	if (record_here())
		return NULL;
	sync_wait();		/* it uses the descriptor */
	if ((reason = record_open(NULL)) != NULL) {
		record_close();
		keep_broken = true;	/* it was in the same folder */
		return reason;
	}
	snapshot_write();
	return NULL;
}

void
log_check(void)
{
	commit();
	find_again();
}

/* To all in the room that are live, or to the nick. */
static void
deliver(const struct saying *s, const struct text *text)
{
	struct place *place = s->room != NULL ? s->room->places : NULL;
	struct place *end = place + (s->room != NULL ? s->room->live : 0);

	for (; place < end; place++)
		if (place->client != s->from || !s->message) {
			tell(&place->client->conn, text);
			if (!list_has(&owed, &place->client->conn))
				owe(place->client);
		}
	if (s->nick != NULL && s->nick->inbox.live) {
		tell(&s->nick->client->conn, text);
		owe(s->nick->client);
	}
}

/*
 * The author's own copy, when the disk has the message. A client that is still
 * behind will read it from the log.
 */
static void
echo(const struct saying *s, const struct text *text)
{
	struct client *c = s->from;

	if (s->room == NULL || member_find(c->member.nick, s->room)->live)
		tell_held(&c->conn, text);
}

static void
refuse(const struct saying *s, const char *reason)
{
	const char *name = s->room != NULL ? s->room->name.text :
	    s->nick->name.text;

	if (!s->notice)
		reply(s->from, ":chat 404 %s %s :The log cannot be written: %s",
		    client_name(s->from), name, reason);
}

/* Writes all messages so far, then delivers them. */
void
commit(void)
{
	size_t count = saying_count;
	const char *reason;
	off_t at, end;

	if (count == 0)
		return;
	saying_count = 0;	/* reply and news, called below, commit, too */
	if ((reason = find_again()) == NULL)
		reason = record_write(batch, filled);
	at = record.end - (off_t)filled;
	for (size_t i = 0; i < count; i++) {
		struct saying *s = &sayings[i];
		struct text text;

		if (reason != NULL) {
			refuse(s, reason);
			continue;
		}
		end = at + (off_t)(s->start + s->len);
		*(s->room != NULL ? &s->room->last : &s->nick->last) = end;
		s->from->conn.queue.said = end;
		text = text_said(batch + s->start, s->len);
		deliver(s, &text);
		if (s->from->conn.queue.echo && s->message)
			echo(s, &text);
	}
	filled = 0;
	sync_bound();
}

/* A line that is not in the log, for any number of clients. */
struct text
news(const char *fmt, ...)
{
	struct text text;
	va_list words;

	commit();
	va_start(words, fmt);
	text = text_format(fmt, words);
	va_end(words);
	return text;
}

/*
 * Answers a client. The answer comes behind earlier answers, and after messages
 * that were said before it have been delivered.
 */
void
reply(struct client *c, const char *fmt, ...)
{
	struct text text;
	va_list words;

	commit();
	va_start(words, fmt);
	text = text_format(fmt, words);
	va_end(words);
	answer(&c->conn, &text);
}

static char *
append(char *to, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len);
	return to + len;
}

/*
 * Adds a message for a room or a nick to the batch; false if the line would be
 * too long.
 */
bool
say(struct client *c, const char *command, struct room *room, struct nick *nick,
    const char *text)
{
	const char *to = room != NULL ? room->name.text : nick->name.text;
	const char *prefix = c->login.prefix;
	char *start, *end;

	if (strlen(prefix) + strlen(command) + strlen(to) + strlen(text) +
	    strlen("   :\r\n") > LINE_BYTES)
		return false;
	if (saying_count == SAYINGS || filled + ENTRY_BYTES > BATCH_BYTES)
		commit();
	start = batch + filled;
	end = append(start, time_now());
	*end++ = ' ';
	end = append(end, prefix);
	*end++ = ' ';
	end = append(end, command);
	*end++ = ' ';
	end = append(end, to);
	end = append(end, " :");
	end = append(end, text);
	*end++ = '\n';
	sayings[saying_count++] = (struct saying){ c, room, nick,
	    filled, (size_t)(end - start), *command != 'T', *command == 'N' };
	filled += (size_t)(end - start);
	return true;
}
