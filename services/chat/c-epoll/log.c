/*
 * log: DATA/log, which holds every message in the order in which all see it.
 * What is said is gathered, written at once and only then delivered: a message
 * that somebody has seen is in the log.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chat.h"

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

struct log record = { .fd = -1 };
static char batch[BATCH_BYTES];
static size_t filled;
static struct saying sayings[SAYINGS];
static size_t saying_count;
static char log_path[4096], lock_path[4096];
static int lock = -1;

/* Universal time, as the log has it. */
const char *
log_time(void)
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

/* Removes what follows the last line feed; returns the size, or -1. */
static off_t
cut_tail(int fd)
{
	struct stat st;
	char part[4096];
	off_t end, from;
	ssize_t len;

	if (fstat(fd, &st) == -1)
		return -1;
	for (end = st.st_size; end > 0; end = from) {
		from = end > (off_t)sizeof part ? end - (off_t)sizeof part : 0;
		len = pread(fd, part, (size_t)(end - from), from);
		if (len != end - from)
			return -1;
		while (len > 0 && part[len - 1] != '\n')
			len--;
		if (len > 0) {
			end = from + len;
			break;
		}
	}
	if (end < st.st_size && ftruncate(fd, end) == -1)
		return -1;
	return end;
}

/*
 * Opens the folder's log, for this server alone; returns what is wrong, or
 * NULL.
 */
const char *
log_open(const char *folder, bool first)
{
	struct stat st;
	off_t size;

	if (first) {
		snprintf(log_path, sizeof log_path, "%s/log", folder);
		snprintf(lock_path, sizeof lock_path, "%s/lock", folder);
	}
	if (lock != -1)
		close(lock);
	if (record.fd != -1)
		close(record.fd);
	record.fd = -1;
	lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock == -1)
		return strerror(errno);
	if (flock(lock, LOCK_EX | LOCK_NB) == -1)
		return errno == EWOULDBLOCK ? "in use by another server" :
		    strerror(errno);
	record.fd = open(log_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC,
	    0600);
	if (record.fd == -1 || fstat(record.fd, &st) == -1 ||
	    (size = cut_tail(record.fd)) == -1)
		return strerror(errno);
	if (first)
		record.end = size;
	else if (st.st_dev != record.dev || st.st_ino != record.ino ||
	    size != record.end - record.base)
		record.floor = record.end;	/* not the log we know */
	record.base = record.end - size;
	record.dev = st.st_dev;
	record.ino = st.st_ino;
	record.synced = record.floor;
	return NULL;
}

/* Whether the log is where it was; if not, tries to have it back. */
static const char *
find_again(void)
{
	struct stat st;
	const char *reason;

	if (record.fd != -1 && stat(log_path, &st) == 0 &&
	    st.st_ino == record.ino && st.st_dev == record.dev &&
	    st.st_size == record.end - record.base)
		return NULL;
	sync_wait();		/* it uses the descriptor */
	if ((reason = log_open(NULL, false)) != NULL) {
		if (record.fd != -1)
			close(record.fd);
		record.fd = -1;
		keep_broken = true;	/* it was in the same folder */
		return reason;
	}
	keep_snapshot();
	return NULL;
}

void
log_check(void)
{
	commit();
	find_again();
}

/* Writes the batch, all or nothing; returns what is wrong, or NULL. */
static const char *
write_batch(void)
{
	const char *reason = find_again();
	size_t done = 0;
	ssize_t written = 0;

	while (reason == NULL && done < filled) {
		written = write(record.fd, batch + done, filled - done);
		if (written > 0)
			done += (size_t)written;
		else if (written == 0 || errno != EINTR)
			reason = written == 0 ? "nothing was written" :
			    strerror(errno);
	}
	if (reason == NULL)
		record.end += (off_t)done;
	else if (done > 0 && ftruncate(record.fd, record.end - record.base))
		record.dev = 0;	/* unknown, so that it is opened anew and cut */
	return reason;
}

/* To all in the room who are live, or to the nick. */
static void
deliver(const struct saying *s, const struct text *text)
{
	struct place *place = s->room != NULL ? s->room->places : NULL;
	struct place *end = place + (s->room != NULL ? s->room->live : 0);

	for (; place < end; place++)
		if (place->client != s->from || !s->message) {
			queue(place->client, text);
			if (place->client->owed == 0)
				owe(place->client);
		}
	if (s->nick != NULL && s->nick->inbox.live) {
		queue(s->nick->client, text);
		owe(s->nick->client);
	}
}

/*
 * The author's own copy, when the disk has it, unless it will read it itself.
 */
static void
echo(const struct saying *s, const struct text *text)
{
	struct client *c = s->from;

	if (s->room != NULL && !member_find(c->nick, s->room)->live)
		return;
	hold(c, text->form[c->tagged], text->len[c->tagged]);
}

static void
refuse(const struct saying *s, const char *reason)
{
	const char *name = s->room != NULL ? s->room->name.text :
	    s->nick->name.text;

	if (!s->notice)
		reply(s->from, ":chat 404 %s %s :The log cannot be written: %s",
		    s->from->nick->name.text, name, reason);
}

/* All that was said so far is written, then delivered. */
void
commit(void)
{
	size_t count = saying_count;
	const char *reason;
	off_t at = record.end, end;

	if (count == 0)
		return;
	saying_count = 0;	/* what is called from here commits, too */
	reason = write_batch();
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
		s->from->said = end;
		text = said_text(batch + s->start, s->len);
		deliver(s, &text);
		if (s->from->echo && s->message)
			echo(s, &text);
	}
	filled = 0;
	sync_bound();
}

static char *
append(char *to, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len);
	return to + len;
}

/* Adds a message to the batch; false if the line would be too long. */
bool
say(struct client *c, const char *command, struct room *room, struct nick *nick,
    const char *text)
{
	const char *to = room != NULL ? room->name.text : nick->name.text;
	char *start, *end;

	if (strlen(c->prefix) + strlen(command) + strlen(to) + strlen(text) +
	    strlen("   :\r\n") > LINE_BYTES)
		return false;
	if (saying_count == SAYINGS || filled + ENTRY_BYTES > BATCH_BYTES)
		commit();
	start = batch + filled;
	end = append(start, log_time());
	*end++ = ' ';
	end = append(end, c->prefix);
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
