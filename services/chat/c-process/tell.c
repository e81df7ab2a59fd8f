/* Lines that main makes from its tables, for one client or for many. */
#include "main.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Begins a message that comes after all that is in the log now. */
void
message_start(struct message *m, uint32_t type)
{
	m->type = type;
	m->value = m->number = m->len = 0;
	m->from = 0;
	m->safe = watermark();
	m->offset = atomic_load(&shared->log_end);
}

/* Adds a line to m, which is posted when it is full. */
void
tell(struct client *c, struct message *m, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof line - 2, format, args);
	va_end(args);
	if (len < 0)
		return;
	if (len > LINE_BYTES - 3)
		len = LINE_BYTES - 3;
	memcpy(line + len, "\r\n", 2);
	if (m->len + (size_t)len + 2 > sizeof m->text) {
		uint32_t type = m->type;

		m->type = M_TEXT;
		client_post(c, m);
		m->type = type;
		m->len = 0;
	}
	memcpy(m->text + m->len, line, (size_t)len + 2);
	m->len += (uint32_t)len + 2;
}

void
tell_end(struct client *c, struct message *m)
{
	if (m->len > 0)
		client_post(c, m);
}

/* Sends lines to all clients in a room but one. */
void
tell_room(uint32_t room, const struct client *but, const char *line, size_t len)
{
	struct message *m = &scratch->line;
	struct client *c;
	uint32_t i;

	message_start(m, M_TEXT);
	memcpy(m->text, line, len);
	m->len = (uint32_t)len;
	for (i = rooms[room].members; i != NOBODY; i = members[i].next_of_room) {
		if (!members[i].present)
			continue;
		c = &clients[persons[members[i].person].client];
		if (c != but)
			client_post(c, m);
	}
}

/* Sends lines to all clients that share a room with this one, once each. */
void
tell_sharers(struct client *c, const char *line, size_t len)
{
	struct message *m = &scratch->line;
	static uint32_t round;
	struct client *other;
	uint32_t i, j;

	message_start(m, M_TEXT);
	memcpy(m->text, line, len);
	m->len = (uint32_t)len;
	c->round = ++round;
	for (i = persons[c->person].members; i != NOBODY;
	    i = members[i].next_of_person) {
		if (!members[i].present)
			continue;
		for (j = rooms[members[i].room].members; j != NOBODY;
		    j = members[j].next_of_room) {
			if (!members[j].present)
				continue;
			other = &clients[persons[members[j].person].client];
			if (other->round == round)
				continue;
			other->round = round;
			client_post(other, m);
		}
	}
}

/* Sends the nicks in a room, as many a line as fit. */
void
tell_names(struct client *c, struct message *m, uint32_t room)
{
	const struct room *r = &rooms[room];
	char names[LINE_BYTES];
	size_t len = 0, most, nick_len;
	const char *nick;
	uint32_t i;

	most = LINE_BYTES - sizeof ":chat 353  =  :\r\n" - strlen(c->nick) -
	    strlen(r->name);
	for (i = r->members; i != NOBODY; i = members[i].next_of_room) {
		if (!members[i].present || members[i].untold)
			continue;
		nick = persons[members[i].person].nick;
		nick_len = strlen(nick);
		if (len + 1 + nick_len > most) {
			tell(c, m, ":chat 353 %s = %s :%.*s", c->nick, r->name,
			    (int)len, names);
			len = 0;
		}
		if (len > 0)
			names[len++] = ' ';
		memcpy(names + len, nick, nick_len);
		len += nick_len;
	}
	if (len > 0)
		tell(c, m, ":chat 353 %s = %s :%.*s", c->nick, r->name,
		    (int)len, names);
}

static void
tell_one(struct client *c, struct message *m, const char *room,
    const struct client *who)
{
	tell(c, m, ":chat 352 %s %s %s %s chat %s H :0 %s", c->nick, room,
	    who->user, who->host, who->nick, who->real);
}

void
tell_who(struct client *c, struct message *m, const char *mask, size_t len)
{
	uint32_t number, i;

	if (len > 0 && mask[0] == '#') {
		number = room_find(mask, len);
		i = number == NOBODY ? NOBODY : rooms[number].members;
		for (; i != NOBODY; i = members[i].next_of_room)
			if (members[i].present)
				tell_one(c, m, rooms[number].name,
				    &clients[persons[members[i].person].client]);
	} else {
		number = person_find(mask, len);
		if (number != NOBODY && persons[number].client != NOBODY)
			tell_one(c, m, "*", &clients[persons[number].client]);
	}
	tell(c, m, ":chat 315 %s %.*s :End of WHO", c->nick, (int)len, mask);
}
