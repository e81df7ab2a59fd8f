/*
 * join: how a client comes into a room and leaves it, and what it is told
 * then.
 */
#include <stdlib.h>
#include <string.h>

#include "chat.h"

static void
join(struct client *c, const char *name)
{
	struct room *room = room_find(name);
	struct member *m = room != NULL ? member_find(c->nick, room) : NULL;
	struct text text;

	if (m != NULL && m->here)
		return;
	if (!room_ok(name)) {
		reply(c, ":chat 403 %s %s :No such room", name_of(c), name);
		return;
	}
	if (m == NULL && c->nick->rooms >= ROOMS) {
		reply(c, ":chat 405 %s %s :You are in too many rooms",
		    name_of(c), name);
		return;
	}
	commit();
	if (room == NULL)
		room = room_make(name);
	if (m == NULL) {
		m = member_make(c->nick, room, record.end);
		keep_member(m);
		c->noted = keep_written;
	}
	m->since = m->skip = record.end;
	m->sent = m->received;
	room_enter(m);
	if (room->last <= m->received)
		room_live(m);
	text = news("%s JOIN %s", c->prefix, room->name.text);
	room_tell(room, &text);
	if (room->topic != NULL)
		reply(c, ":chat 332 %s %s :%s", name_of(c), room->name.text,
		    room->topic);
	room_names(c, room, room->name.text);
	missed_begin(c);
}

void
do_join(struct client *c, struct words *w)
{
	c->joins = must(strdup(w->word[0]));
	join_rest(c);
}

/*
 * Joins until there is something to be read first; false if there are others.
 */
bool
join_rest(struct client *c)
{
	char *rest = c->joins, *name;

	if (rest == NULL)
		return true;
	while (c->behind == NULL && (name = next_of(&rest)) != NULL)
		join(c, name);
	rest = *rest != '\0' ? must(strdup(rest)) : NULL;
	free(c->joins);
	c->joins = rest;
	return rest == NULL;
}

/* The room, if the client is in it; if not, it is told so. */
struct member *
here(struct client *c, const char *name)
{
	struct room *room = room_find(name);
	struct member *m = room != NULL ? member_find(c->nick, room) : NULL;

	if (room == NULL)
		reply(c, ":chat 403 %s %s :No such room", name_of(c), name);
	else if (m == NULL || !m->here)
		reply(c, ":chat 442 %s %s :You are not in it", name_of(c),
		    name);
	return m != NULL && m->here ? m : NULL;
}

void
do_part(struct client *c, struct words *w)
{
	struct member *m;
	struct text text;
	char *name;

	while ((name = next_of(&w->word[0])) != NULL) {
		if ((m = here(c, name)) == NULL)
			continue;
		text = w->count > 1 ?
		    news("%s PART %s :%s", c->prefix, m->room->name.text,
		    w->word[1]) :
		    news("%s PART %s", c->prefix, m->room->name.text);
		room_tell(m->room, &text);
		keep_part(m);
		c->noted = keep_written;
		room_exit(m);
		member_remove(m);
	}
	missed_begin(c);
}
