/*
 * Who comes into a room and who goes. All clients that join one room in a turn of
 * main are announced by one message to each of the others, and likewise all that
 * quit: with a message for each, a thousand that come or go together would wake
 * each process of the others for every one of them.
 */
#include "main.h"
#include "numeric.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t
rooms_of(uint32_t person)
{
	uint32_t i, count = 0;

	for (i = persons[person].members; i != NOBODY;
	    i = members[i].next_of_person)
		count++;
	return count;
}

/* Marks a member as present. From `from` on it has missed messages. */
static void
enter(const struct joiner *one, uint64_t now)
{
	struct member *m = &members[one->member];
	const char *room = rooms[m->room].name;

	m->present = m->untold = true;
	m->unsure = false;
	m->joined = now;
	if (one->fresh || (atomic_load(&shared->last[m->room]) <= m->from &&
	    watermark() >= now))
		m->from = now;		/* it has missed nothing */
	if (one->fresh)
		journal("M %s %s %" PRIu64 "\n", one->client->nick, room, m->from);
	journal("J %s %s %" PRIu64 "\n", one->client->nick, room, m->joined);
}

/* Enters all that wait, and returns the offset of their JOINs. The audience grows
 * before the end of the log is read, so a RECV that finds itself alone has
 * published its lines before that end. */
static uint64_t
enter_all(const struct announced *all)
{
	uint64_t now;
	uint32_t i;

	atomic_fetch_add(&shared->audience[all->room], all->count);
	now = atomic_load(&shared->log_end);
	for (i = 0; i < all->count; i++)
		enter(&all->joiners[i], now);
	return now;
}

/* Tells the clients that were in the room before. */
static void
tell_members(const struct announced *all, uint64_t now)
{
	struct message *m = &scratch->line;
	uint32_t i;

	message_start(m, M_TEXT);
	m->offset = now;
	memcpy(m->text, all->text, all->len);
	m->len = all->len;
	for (i = rooms[all->room].members; i != NOBODY; i = members[i].next_of_room)
		if (members[i].present && !members[i].untold)
			client_post(&clients[persons[members[i].person].client], m);
}

/* Tells one that has come: its JOIN, who is here, and who came after it. */
static void
tell_joiner(const struct announced *all, const struct joiner *one, uint64_t now)
{
	struct message *m = &scratch->note;
	const struct room *r = &rooms[all->room];
	struct client *c = one->client;

	members[one->member].untold = false;
	message_start(m, M_TEXT);
	m->offset = now;
	tell(c, m, "%.*s", (int)(one->end - one->start) - 2, all->text + one->start);
	look_for_topic(all->room);
	if (r->topic[0] != '\0')
		tell(c, m, ":chat 332 %s %s :%s", c->nick, r->name, r->topic);
	tell_names(c, m, all->room);
	tell(c, m, ":chat 366 %s %s :End of NAMES", c->nick, r->name);
	tell_end(c, m);
	m->type = M_JOIN;
	m->value = all->room;
	m->number = ++c->replays;
	m->from = members[one->member].from;
	m->len = 0;
	(void)message_text(m, "%s", r->name);
	client_post(c, m);
	if (one->end < all->len) {
		message_start(m, M_TEXT);
		m->offset = now;
		m->len = all->len - one->end;
		memcpy(m->text, all->text + one->end, m->len);
		client_post(c, m);
	}
	m->number = all->room;
	m->len = (uint32_t)copy(m->text, sizeof m->text, r->name, strlen(r->name));
	reply(c, m, 0);
}

/* Announces all that wait. When a client learns that it is in, by the end of its
 * list of names, all others have been sent its JOIN. */
void
announce(void)
{
	struct announced *all = &scratch->announced;
	uint64_t now;
	uint32_t i;

	if (all->count == 0)
		return;
	now = all->type == M_JOIN ? enter_all(all) : atomic_load(&shared->log_end);
	tell_members(all, now);
	for (i = 0; all->type == M_JOIN && i < all->count; i++)
		tell_joiner(all, &all->joiners[i], now);
	all->count = all->len = 0;
}

/* Adds a line, which waits until another room or another request comes, there is
 * no space left, or the turn ends. */
static struct joiner *
add(uint32_t type, uint32_t room, const char *line, size_t len)
{
	struct announced *all = &scratch->announced;
	struct joiner *one;

	if (all->type != type || all->room != room || all->count == ANNOUNCED_MOST ||
	    all->len + len > sizeof all->text)
		announce();
	all->type = type;
	all->room = room;
	one = &all->joiners[all->count++];
	one->start = all->len;
	memcpy(all->text + all->len, line, len);
	all->len += (uint32_t)len;
	one->end = all->len;
	return one;
}

/* A client has gone. Most are in one room. */
void
announce_quit(struct client *c, const char *line, size_t len)
{
	uint32_t i, room = NOBODY, count = 0;

	if (scratch->announced.type == M_JOIN)
		announce();
	for (i = persons[c->person].members; i != NOBODY;
	    i = members[i].next_of_person)
		if (members[i].present) {
			room = members[i].room;
			count++;
		}
	if (count == 1)
		(void)add(M_QUIT, room, line, len);
	else if (count > 1) {
		announce();
		tell_sharers(c, line, len);
	}
}

void
deal_join(struct client *c, struct message *m)
{
	uint32_t room = room_find(m->text, m->len), number = NOBODY;
	char line[LINE_BYTES];
	struct joiner *one;
	bool fresh;
	int len;

	if (room != NOBODY)
		number = member_find(c->person, room);
	m->number = room;
	if (number != NOBODY && members[number].present) {
		reply(c, m, 0);
		return;
	}
	fresh = number == NOBODY;
	if (fresh && rooms_of(c->person) >= ROOMS_EACH) {
		reply(c, m, ERR_TOOMANYCHANNELS);
		return;
	}
	if (fresh && ((room = room_make(m->text, m->len)) == NOBODY ||
	    (number = member_make(c->person, room)) == NOBODY)) {
		reply(c, m, ERR_NOSUCHCHANNEL);
		return;
	}
	len = snprintf(line, sizeof line, ":%s!%s@%s JOIN %s\r\n", c->nick, c->user,
	    c->host, rooms[room].name);
	one = add(M_JOIN, room, line, (size_t)len);
	one->client = c;
	one->member = number;
	one->fresh = fresh;
}
