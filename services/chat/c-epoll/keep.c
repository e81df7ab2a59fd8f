/*
 * keep: DATA/members, which holds the members of each room, and how much of the
 * log each has had. Each change is appended as a line. The file is written anew,
 * from memory, at the start and when it has grown.
 *
 *	member ann #tea 1234	has had all of #tea before byte 1234 of the log
 *	member ann * 1234	and what was said to the nick
 *	part ann #tea
 *	topic #tea :text
 */
#define LAYER L_KEEP
#include "keep.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "line.h"

enum {
	GROWN_BYTES = 1 << 20,	/* a guess: by so much before it is written anew */
};

uint64_t keep_written, keep_synced;
bool keep_broken, keep_grown;
static char path[4096], fresh_path[4096], folder_path[4096];
static int fd = -1;
static off_t size, first_size;
static bool renaming;			/* fd is the fresh one */
static struct buffer notes;		/* the changes of this turn */

/* Opens the members of a folder to be read; NULL: there are none. */
FILE *
keep_open(const char *folder)
{
	FILE *file;

	snprintf(folder_path, sizeof folder_path, "%s", folder);
	snprintf(path, sizeof path, "%s/members", folder);
	snprintf(fresh_path, sizeof fresh_path, "%s/members.new", folder);
	if ((file = fopen(path, "re")) == NULL && errno != ENOENT)
		err(1, "%s", path);
	return file;
}

const char *
keep_path(void)
{
	return path;
}

static void note(const char *, ...) __attribute__((format(printf, 1, 2)));

static void
note(const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list words;
	int len;

	va_start(words, fmt);
	len = vsnprintf(line, sizeof line, fmt, words);
	va_end(words);
	if (!buffer_add(&notes, line, (size_t)len))
		keep_broken = true;
	keep_written++;
}

/* Without a room: the messages for the nick itself. */
void
keep_member(const char *nick, const char *room, off_t received)
{
	note("member %s %s %lld\n", nick, room != NULL ? room : "*",
	    (long long)received);
}

void
keep_part(const char *nick, const char *room)
{
	note("part %s %s\n", nick, room);
}

void
keep_topic(const char *room, const char *topic)
{
	note("topic %s :%s\n", room, topic != NULL ? topic : "");
}

static bool
write_notes(void)
{
	ssize_t len;

	while (notes.len > 0) {
		len = write(fd, notes.bytes + notes.start, notes.len);
		if (len == -1 && errno == EINTR)
			continue;
		if (len <= 0)
			return false;
		size += len;
		buffer_drop(&notes, (size_t)len);
	}
	return true;
}

/* Writes the changes of this turn. */
void
keep_write(void)
{
	if (notes.len == 0 || keep_broken)
		return;
	if (!write_notes())
		keep_broken = true;
	keep_grown = size > 2 * first_size + GROWN_BYTES;
}

/*
 * Begins a fresh file, for which all that is true is noted; keep_whole ends it.
 * No sync may be under way: it uses the descriptor. False: there is no file.
 */
bool
keep_fresh(void)
{
	buffer_drop(&notes, notes.len);
	keep_broken = true;
	if (fd != -1)
		close(fd);
	unlink(fresh_path);
	fd = open(fresh_path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return false;
	size = 0;
	keep_broken = keep_grown = false;
	return true;
}

/* The fresh file is whole; the next sync gives it its name. */
void
keep_whole(void)
{
	keep_broken = keep_broken || !write_notes();
	renaming = true;
	first_size = size;
}

/* The fresh file takes the place of the old one only when the disk has it. */
bool
keep_sync(void)
{
	int folder;
	bool done;

	if (fd == -1 || fdatasync(fd) == -1)
		return false;
	if (!renaming)
		return true;
	if (rename(fresh_path, path) == -1)
		return false;
	renaming = false;
	folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	done = folder != -1 && fsync(folder) == 0;
	close(folder);
	return done;
}
