/*
 * member: nicks, the rooms that each is a member of whether here or not, and
 * what each has had. What was queued counts as received when the client
 * answers a PING that was queued behind it, or ends in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

enum {
	ASK_MS = 1500,		/* of the 2 s within which a client is asked */
};

struct table nicks;
static struct client *owed_first, *owed_last;	/* oldest first */

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

/*
 * The nick is a member no longer. Its room may go with it. There is no client
 * while DATA/members is read.
 */
void
member_remove(struct member *m)
{
	struct member *before = &m->nick->inbox;
	struct client *c = m->nick->client;

	while (before->next != m)
		before = before->next;
	before->next = m->next;
	for (uint32_t i = 0; c != NULL && i < c->asked; i++)
		if (c->asks[i].behind == m)
			c->asks[i].behind = NULL;
	if (c != NULL && c->behind == m)
		c->behind = NULL;
	m->nick->rooms--;
	room_leave(m->room);
	free(m);
}

void
member_received(struct member *m, off_t end)
{
	off_t last = m->room != NULL ? m->room->last : m->nick->last;
	off_t before = m->received;

	if (end <= before)
		return;
	m->received = end;
	if (last > before)	/* else the same lines are missing: none */
		keep_member(m);
}

/* A client that was sent messages will be asked whether it has them. */
void
owe(struct client *c)
{
	if (c->owed != 0 || c->deaf)
		return;
	c->owed = now_ms;
	c->owed_next = NULL;
	c->owed_prev = owed_last;
	*(owed_last != NULL ? &owed_last->owed_next : &owed_first) = c;
	owed_last = c;
}

void
owe_nothing(struct client *c)
{
	if (c->owed == 0)
		return;
	c->owed = 0;
	*(c->owed_prev != NULL ? &c->owed_prev->owed_next : &owed_first) =
	    c->owed_next;
	*(c->owed_next != NULL ? &c->owed_next->owed_prev : &owed_last) =
	    c->owed_prev;
}

void
ask(struct client *c)
{
	struct text text;

	if (c->asked == ASKS)
		return;		/* the answer to these is waited for */
	text = news("PING :%u", ++c->token);
	queue(c, &text);
	c->asks[c->asked++] = (struct ask){ c->token, record.end, c->behind,
	    c->behind != NULL ? c->behind->sent : 0 };
}

void
asks_due(void)
{
	struct client *c;

	while ((c = owed_first) != NULL && c->owed + ASK_MS <= now_ms) {
		owe_nothing(c);
		ask(c);
	}
}

/* When the next is to be asked; 0: nobody. */
int64_t
asks_next(void)
{
	return owed_first != NULL ? owed_first->owed + ASK_MS : 0;
}

/* What was queued before the PING that is answered has been received. */
void
answered(struct client *c, const char *token)
{
	unsigned long number = strtoul(token, NULL, 10);
	bool full = c->asked == ASKS;
	uint32_t i = 0;

	while (i < c->asked && c->asks[i].token != number)
		i++;
	if (i == c->asked)
		return;
	for (struct member *m = &c->nick->inbox; m != NULL; m = m->next)
		if (m->live && m->live_at < c->asks[i].token)
			member_received(m, c->asks[i].end);
		else if (m == c->asks[i].behind)
			member_received(m, c->asks[i].sent);
	c->asked -= i + 1;
	memmove(c->asks, c->asks + i + 1, c->asked * sizeof *c->asks);
	if (full)
		owe(c);		/* for what it was sent since */
}
