/*
 * member: nicks, rooms, and the rooms that each nick is a member of, whether
 * its client is there or not. What becomes different is noted in DATA/members.
 */
#define LAYER L_MEMBER
#include "member.h"

#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "record.h"

struct table rooms, nicks;

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
	room->last = record.end;	/* nothing says what it had before */
	return room;
}

/* An empty topic is none. */
void
room_topic(struct room *room, const char *topic)
{
	free(room->topic);
	room->topic = *topic != '\0' ? must(strdup(topic)) : NULL;
}

/* A room without a member is forgotten. */
static void
room_leave(struct room *room)
{
	if (--room->members > 0)
		return;
	table_remove(&rooms, &room->name);
	free(room->places);
	free(room->topic);
	free(room);
}

struct nick *
nick_find(const char *name)
{
	return (struct nick *)table_find(&nicks, name);
}

struct nick *
nick_make(const char *name)
{
	struct nick *nick = must(calloc(1, sizeof *nick));

	table_add(&nicks, &nick->name, name);
	nick->inbox.nick = nick;
	nick->inbox.received = nick->last = record.end;
	return nick;
}

struct member *
member_find(const struct nick *nick, const struct room *room)
{
	struct member *m = nick->inbox.next;

	while (m != NULL && m->room != room)
		m = m->next;
	return m;
}

struct member *
member_make(struct nick *nick, struct room *room, off_t received)
{
	struct member *m = must(calloc(1, sizeof *m));

	m->nick = nick;
	m->room = room;
	m->received = m->sent = received;
	m->next = nick->inbox.next;
	nick->inbox.next = m;
	nick->rooms++;
	room->members++;
	return m;
}

/* The nick is a member no longer. Its room may go with it. */
void
member_remove(struct member *m)
{
	struct member *before = &m->nick->inbox;

	while (before->next != m)
		before = before->next;
	before->next = m->next;
	m->nick->rooms--;
	room_leave(m->room);
	free(m);
}

void
member_note(const struct member *m)
{
	off_t at = m->received - record.base;

	keep_member(m->nick->name.text,
	    m->room != NULL ? m->room->name.text : NULL, at > 0 ? at : 0);
}

/* The client has all before this for certain. */
void
member_received(struct member *m, off_t end)
{
	off_t last = m->room != NULL ? m->room->last : m->nick->last;
	off_t before = m->received;

	if (end <= before)
		return;
	m->received = end;
	if (last > before)	/* else the same lines are missing: none */
		member_note(m);
}

/* Now it is known whether the last client of a nick had what it was sent. */
void
settle(struct nick *nick, bool received)
{
	nick->leaving = NULL;
	for (struct member *m = &nick->inbox; m != NULL; m = m->next)
		if (received)
			member_received(m, m->sent);
		else
			m->sent = m->received;
}
