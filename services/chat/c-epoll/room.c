/*
 * room: the clients that are in a room. A room has a place for each member that
 * is here: first those that are live, which a message reaches by walking an
 * array, then those that still read what they have missed.
 */
#define LAYER L_ROOM
#include "room.h"

#include <stdlib.h>

#include "record.h"

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

/* The first that is not live makes place for it. */
void
room_live(struct member *m)
{
	struct room *room = m->room;

	m->live = true;
	m->live_at = m->nick->client->alive.token;
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

/* To all that are here. */
void
room_tell(struct room *room, const struct text *text)
{
	for (uint32_t i = 0; i < room->here; i++)
		tell(&room->places[i].client->conn, text);
}

/* To all that share a room with a client, once each; not to itself. */
void
neighbours_tell(struct client *c, const struct text *text)
{
	static uint32_t stamp;

	stamp++;
	c->member.stamp = stamp;
	for (struct member *m = c->member.nick->inbox.next; m != NULL;
	    m = m->next)
		for (uint32_t i = 0; m->here && i < m->room->here; i++) {
			struct client *other = m->room->places[i].client;

			if (other->member.stamp != stamp)
				tell(&other->conn, text);
			other->member.stamp = stamp;
		}
}
