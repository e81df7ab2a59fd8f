/*
 * room: who is where. A room has a place for each member who is here: first
 * those live, whom a message reaches by walking an array, then those who still
 * read what they have missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

struct table rooms;

struct room *
room_find(const char *name)
{
	return (struct room *)table_find(&rooms, name);
}

struct room *
room_make(const char *name)
{
	struct room *room = must(calloc(1, sizeof *room));

	table_add(&rooms, &room->name, name);
	room->last = record.end;	/* what it had before, nobody knows */
	return room;
}

/* A room without a member is forgotten. */
void
room_leave(struct room *room)
{
	if (--room->members > 0)
		return;
	table_remove(&rooms, &room->name);
	free(room->places);
	free(room->topic);
	free(room);
}

static void
put_at(struct room *room, struct place place, uint32_t at)
{
	room->places[at] = place;
	place.member->place = at;
}

/* A member comes in, and is not live yet. */
void
room_enter(struct member *m)
{
	struct room *room = m->room;

	if (room->here == room->size) {
		room->size = room->size ? 2 * room->size : 4;
		room->places = must(realloc(room->places,
		    room->size * sizeof *room->places));
	}
	put_at(room, (struct place){ m->nick->client, m }, room->here++);
	m->here = true;
	m->live = false;
}

/* The first who is not live makes place for it. */
void
room_live(struct member *m)
{
	struct room *room = m->room;

	m->live = true;
	m->live_at = m->nick->client->token;
	if (room == NULL)
		return;
	put_at(room, room->places[room->live], m->place);
	put_at(room, (struct place){ m->nick->client, m }, room->live++);
}

void
room_exit(struct member *m)
{
	struct room *room = m->room;
	uint32_t at = m->place;

	if (m->live) {
		m->sent = record.end;
		if (at < --room->live)
			put_at(room, room->places[room->live], at);
		at = room->live;
	}
	if (at < --room->here)
		put_at(room, room->places[room->here], at);
	m->here = m->live = false;
}

/* To all who are here. */
void
room_tell(struct room *room, const struct text *text)
{
	for (uint32_t i = 0; i < room->here; i++)
		queue(room->places[i].client, text);
}

/* To all who share a room with a client, once each; not to itself. */
void
neighbours_tell(struct client *c, const struct text *text)
{
	static uint32_t stamp;

	stamp++;
	c->stamp = stamp;
	for (struct member *m = c->nick->inbox.next; m != NULL; m = m->next)
		for (uint32_t i = 0; m->here && i < m->room->here; i++) {
			struct client *other = m->room->places[i].client;

			if (other->stamp != stamp)
				queue(other, text);
			other->stamp = stamp;
		}
}

/* 353 as often as it takes, and 366. */
void
room_names(struct client *c, struct room *room, const char *name)
{
	char line[LINE_BYTES];
	size_t fixed, len = 0;

	fixed = strlen(":chat 353  =  :\r\n") + strlen(c->nick->name.text) +
	    strlen(name);
	for (uint32_t i = 0; room != NULL && i < room->here; i++) {
		const char *nick =
		    room->places[i].member->nick->name.text;

		if (fixed + len + 1 + strlen(nick) > LINE_BYTES) {
			reply(c, ":chat 353 %s = %s :%s", c->nick->name.text,
			    room->name.text, line);
			len = 0;
		}
		len += (size_t)snprintf(line + len, sizeof line - len,
		    "%s%s", len > 0 ? " " : "", nick);
	}
	if (len > 0)
		reply(c, ":chat 353 %s = %s :%s", c->nick->name.text,
		    room->name.text, line);
	reply(c, ":chat 366 %s %s :End of NAMES", c->nick->name.text, name);
}
