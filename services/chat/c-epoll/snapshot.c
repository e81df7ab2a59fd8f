/*
 * snapshot: DATA/members read at the start, and written anew from memory.
 */
#define LAYER L_SNAPSHOT
#include "snapshot.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "line.h"
#include "member.h"
#include "record.h"
#include "sync.h"

/* Writes all that is true into a fresh file. */
void
snapshot_write(void)
{
	sync_wait();		/* it uses the descriptor */
	if (!keep_fresh())
		return;
	for (size_t i = 0; i < nicks.size; i++)
		for (struct name *n = nicks.slots[i]; n != NULL; n = n->next)
			for (struct member *m = &((struct nick *)n)->inbox;
			    m != NULL; m = m->next)
				member_note(m);
	for (size_t i = 0; i < rooms.size; i++)
		for (struct name *n = rooms.slots[i]; n != NULL; n = n->next)
			if (((struct room *)n)->topic != NULL)
				keep_topic(n->text, ((struct room *)n)->topic);
	keep_whole();
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
		if ((room = room_find(w.word[1])) != NULL)
			room_topic(room, w.word[2]);
	} else
		warnx("%s: not understood: %s", keep_path(), line);
}

/* Reads the folder's members; a last line without an end was cut off. */
void
snapshot_load(const char *folder)
{
	FILE *file = keep_open(folder);
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while (file != NULL && (len = getline(&line, &room, file)) > 0)
		if (line[len - 1] == '\n') {
			line[len - 1] = '\0';
			load_line(line);
		}
	if (file != NULL && ferror(file))
		err(1, "%s", keep_path());
	if (file != NULL)
		fclose(file);
	free(line);
	snapshot_write();
	if (!keep_broken)
		keep_broken = !keep_sync();
}
