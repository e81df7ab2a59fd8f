/*
 * join: how a client comes into a room and leaves it, and the replies to that.
 */
#define LAYER L_JOIN
#include "join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "log.h"
#include "missed.h"
#include "record.h"
#include "room.h"

enum {
	PIECES = 8,		/* a guess: in a turn, about half a millisecond */
};

/* 353 as often as it takes, and 366. */
static void
send_names(struct client *c, struct room *room, const char *name)
{
	char line[LINE_BYTES];
	size_t fixed, len = 0;

	fixed = strlen(":chat 353  =  :\r\n") + strlen(client_name(c)) +
	    strlen(name);
	for (uint32_t i = 0; room != NULL && i < room->here; i++) {
		const char *nick =
		    room->places[i].member->nick->name.text;

		if (fixed + len + 1 + strlen(nick) > LINE_BYTES) {
			reply(c, ":chat 353 %s = %s :%s", client_name(c),
			    room->name.text, line);
			len = 0;
		}
		len += (size_t)snprintf(line + len, sizeof line - len,
		    "%s%s", len > 0 ? " " : "", nick);
	}
	if (len > 0)
		reply(c, ":chat 353 %s = %s :%s", client_name(c),
		    room->name.text, line);
	reply(c, ":chat 366 %s %s :End of NAMES", client_name(c), name);
}

static void
join(struct client *c, const char *name)
{
	struct nick *nick = c->member.nick;
	struct room *room = room_find(name);
	struct member *m = room != NULL ? member_find(nick, room) : NULL;
	struct text text;

	if (m != NULL && m->here)
		return;
	if (!room_ok(name)) {
		reply(c, ":chat 403 %s %s :No such room", client_name(c), name);
		return;
	}
	if (m == NULL && nick->rooms >= ROOMS) {
		reply(c, ":chat 405 %s %s :You are in too many rooms",
		    client_name(c), name);
		return;
	}
	commit();
	if (room == NULL)
		room = room_make(name);
	if (m == NULL) {
		m = member_make(nick, room, record.end);
		member_note(m);
		c->conn.queue.noted = keep_written;
	}
	m->since = m->skip = record.end;
	m->sent = m->received;
	room_enter(m);
	if (room->last <= m->received)
		room_live(m);
	text = news("%s JOIN %s", c->login.prefix, room->name.text);
	room_tell(room, &text);
	if (room->topic != NULL)
		reply(c, ":chat 332 %s %s :%s", client_name(c), room->name.text,
		    room->topic);
	send_names(c, room, room->name.text);
	missed_begin(c);
}

void
do_join(struct client *c, struct words *w)
{
	c->member.joins = must(strdup(w->word[0]));
	join_rest(c);
}

/*
 * Joins the rooms that the client has asked for, until there is something to be
 * read first. False if other rooms are left.
 */
bool
join_rest(struct client *c)
{
	char *rest = c->member.joins, *name;

	if (rest == NULL)
		return true;
	while (c->member.behind == NULL && (name = next_of(&rest)) != NULL)
		join(c, name);
	rest = *rest != '\0' ? must(strdup(rest)) : NULL;
	free(c->member.joins);
	c->member.joins = rest;
	return rest == NULL;
}

/* Reads a few pieces for clients that are behind. */
void
catch_up(void)
{
	struct client *c;

	for (int i = 0; i < PIECES && (c = missed_next()) != NULL; i++) {
		if (!missed_read(c))
			continue;
		if (conn_stays(&c->conn))
			join_rest(c);	/* of several rooms, the next */
		if (c->conn.state == THROTTLED)
			list_push(&again, &c->conn);
	}
}

/* The client's membership, if it is in the room; if not, it is told so. */
struct member *
here(struct client *c, const char *name)
{
	struct room *room = room_find(name);
	struct member *m = room != NULL ?
	    member_find(c->member.nick, room) : NULL;

	if (room == NULL)
		reply(c, ":chat 403 %s %s :No such room", client_name(c), name);
	else if (m == NULL || !m->here)
		reply(c, ":chat 442 %s %s :You are not in it", client_name(c),
		    name);
	return m != NULL && m->here ? m : NULL;
}

void
do_part(struct client *c, struct words *w)
{
	struct member *m;
	struct text text;
	char *name, *room;

	while ((name = next_of(&w->word[0])) != NULL) {
		if ((m = here(c, name)) == NULL)
			continue;
		room = m->room->name.text;
		text = w->count > 1 ?
		    news("%s PART %s :%s", c->login.prefix, room, w->word[1]) :
		    news("%s PART %s", c->login.prefix, room);
		room_tell(m->room, &text);
		keep_part(m->nick->name.text, room);
		c->conn.queue.noted = keep_written;
		room_exit(m);
		alive_forget(&c->alive, m);
		if (c->member.behind == m)
			c->member.behind = NULL;
		member_remove(m);
	}
	missed_begin(c);
}

void
do_names(struct client *c, struct words *w)
{
	char *name;

	if (w->count == 0)
		send_names(c, NULL, "*");
	else
		while ((name = next_of(&w->word[0])) != NULL)
			send_names(c, room_find(name), name);
}
