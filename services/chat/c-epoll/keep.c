/*
 * keep: DATA/members, which holds who is a member of what, and how much of the
 * log each has had. It is appended to, a line for each change, and written anew
 * at the start and when it has grown: what is true is in memory.
 *
 *	member ann #tea 1234	has had all of #tea before byte 1234 of the log
 *	member ann * 1234	and what was said to the nick
 *	part ann #tea
 *	topic #tea :text
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat.h"

enum {
	GROWN_BYTES = 1 << 20,	/* a guess: by so much before it is written anew */
};

uint64_t keep_written, keep_synced;	/* changes */
bool keep_broken, keep_grown;		/* to be written anew */
static char path[4096], fresh_path[4096], folder_path[4096];
static int fd = -1;
static off_t size, first_size;
static bool renaming;			/* fd is the fresh one */
static struct buffer notes;		/* the changes of this turn */

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

void
keep_member(const struct member *m)
{
	off_t at = m->received - record.base;

	note("member %s %s %lld\n", m->nick->name.text,
	    m->room != NULL ? m->room->name.text : "*",
	    at > 0 ? (long long)at : 0LL);
}

void
keep_part(const struct member *m)
{
	note("part %s %s\n", m->nick->name.text, m->room->name.text);
}

void
keep_topic(const struct room *room)
{
	note("topic %s :%s\n", room->name.text,
	    room->topic != NULL ? room->topic : "");
}

static bool
write_notes(void)
{
	ssize_t written;

	while (notes.len > 0) {
		written = write(fd, notes.bytes + notes.start, notes.len);
		if (written == -1 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		size += written;
		buffer_drop(&notes, (size_t)written);
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

/* All that is true into a fresh file, which the next sync gives its name. */
void
keep_snapshot(void)
{
	sync_wait();		/* it uses the descriptor */
	buffer_drop(&notes, notes.len);
	keep_broken = true;
	if (fd != -1)
		close(fd);
	unlink(fresh_path);
	fd = open(fresh_path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	size = 0;
	keep_broken = keep_grown = false;
	for (size_t i = 0; i < nicks.size; i++)
		for (struct name *n = nicks.slots[i]; n != NULL; n = n->next)
			for (struct member *m = &((struct nick *)n)->inbox;
			    m != NULL; m = m->next)
				keep_member(m);
	for (size_t i = 0; i < rooms.size; i++)
		for (struct name *n = rooms.slots[i]; n != NULL; n = n->next)
			if (((struct room *)n)->topic != NULL)
				keep_topic((struct room *)n);
	keep_broken = keep_broken || !write_notes();
	renaming = true;
	first_size = size;
}

/* Only when it is on the disk may the fresh one take the place of the old. */
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

static struct room *
room_known(const char *name)
{
	struct room *room = room_find(name);

	return room != NULL ? room : room_make(name);
}

static void
load_member(const struct words *w)
{
	struct nick *nick = nick_find(w->word[0]);
	off_t at = strtoll(w->word[2], NULL, 10);
	struct member *m;
	struct room *room;

	if (nick == NULL)
		nick = nick_make(w->word[0]);
	m = &nick->inbox;
	if (*w->word[1] == '#') {
		room = room_known(w->word[1]);
		if ((m = member_find(nick, room)) == NULL)
			m = member_make(nick, room, at);
	}
	m->received = m->sent = at < record.end ? at : record.end;
}

static void
load_line(char *line)
{
	struct words w;
	struct nick *nick;
	struct room *room;
	struct member *m;

	split(line, &w);
	if (w.count == 4 && strcmp(w.word[0], "member") == 0) {
		memmove(w.word, w.word + 1, 3 * sizeof *w.word);
		load_member(&w);
	} else if (w.count == 3 && strcmp(w.word[0], "part") == 0) {
		nick = nick_find(w.word[1]);
		room = room_find(w.word[2]);
		if (nick != NULL && room != NULL &&
		    (m = member_find(nick, room)) != NULL)
			member_remove(m);
	} else if (w.count == 3 && strcmp(w.word[0], "topic") == 0) {
		if ((room = room_find(w.word[1])) == NULL)
			return;
		free(room->topic);
		room->topic = *w.word[2] != '\0' ?
		    must(strdup(w.word[2])) : NULL;
	} else
		warnx("%s: not understood: %s", path, line);
}

/* Reads the folder's members; a last line without an end was cut off. */
void
keep_load(const char *folder)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *file;

	snprintf(folder_path, sizeof folder_path, "%s", folder);
	snprintf(path, sizeof path, "%s/members", folder);
	snprintf(fresh_path, sizeof fresh_path, "%s/members.new", folder);
	if ((file = fopen(path, "re")) == NULL && errno != ENOENT)
		err(1, "%s", path);
	while (file != NULL && (len = getline(&line, &room, file)) > 0)
		if (line[len - 1] == '\n') {
			line[len - 1] = '\0';
			load_line(line);
		}
	if (file != NULL && ferror(file))
		err(1, "%s", path);
	if (file != NULL)
		fclose(file);
	free(line);
	keep_snapshot();
	if (!keep_broken)
		keep_broken = !keep_sync();
}
