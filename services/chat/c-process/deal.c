/* The requests of clients to main. Only this and announce.c change the tables. */
#include "daemon.h"
#include "main.h"
#include "numeric.h"

#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
reply(struct client *c, struct message *m, uint32_t value)
{
	m->type = M_REPLY;
	m->value = value;
	m->offset = journal_records();
	if (value != 0)
		m->len = 0;
	/* Replies to RECV, which waits for that and has no other request. */
	if (message_send(c->recv_fd, m, false) == EAGAIN) {
		complain("a client was ended: %s", strerror(ENOBUFS));
		client_kill(c);
	}
}

/* Splits a text in two words. The second is the rest, and may be empty. */
static struct word
split(const struct message *m, struct word *rest)
{
	const char *blank = memchr(m->text, ' ', m->len);
	size_t len = blank != NULL ? (size_t)(blank - m->text) : m->len;

	*rest = (struct word){ m->text + m->len, 0 };
	if (blank != NULL)
		*rest = (struct word){ blank + 1, m->len - len - 1 };
	return (struct word){ m->text, len };
}

static bool
nick_taken(const struct client *but, const char *nick, size_t len)
{
	uint32_t i, count = atomic_load(&shared->clients);

	for (i = 0; i < count; i++)
		if (clients[i].stage != STAGE_FREE && &clients[i] != but &&
		    same(clients[i].nick, strlen(clients[i].nick), nick, len))
			return true;
	return false;
}

/* The client has this nick from now on. Returns the offset from which on it has
 * missed messages for the nick. */
static uint64_t
come_as(struct client *c, uint32_t number, uint64_t now)
{
	struct person *p = &persons[number];

	(void)copy(p->nick, sizeof p->nick, c->nick, strlen(c->nick));
	p->client = client_slot(c);
	person_come(number, now);
	c->person = number;
	if (c->renamed_from == number && p->from < c->renamed_at)
		p->from = c->renamed_at;	/* it had this nick a moment ago */
	if (p->last <= p->from && watermark() >= now)
		p->from = now;	/* no message for it waits or is under way */
	journal("N %s %" PRIu64 "\nC %s %" PRIu64 "\n", p->nick, p->from,
	    p->nick, now);
	return p->from;
}

/* The old nick stays a member of its rooms, since it has not parted; the new
 * one becomes a member too. */
static void
move_rooms(uint32_t old, uint32_t new, uint64_t now)
{
	uint32_t i, m;

	for (i = persons[old].members; i != NOBODY;
	    i = members[i].next_of_person) {
		if (!members[i].present)
			continue;
		m = member_make(new, members[i].room);
		if (m == NOBODY) {
			atomic_fetch_sub(&shared->audience[members[i].room], 1);
			continue;
		}
		members[m].present = true;
		members[m].from = members[m].joined = now;
		journal("M %s %s %" PRIu64 "\nJ %s %s %" PRIu64 "\n",
		    persons[new].nick, rooms[members[m].room].name, now,
		    persons[new].nick, rooms[members[m].room].name, now);
	}
	person_away(old);
	journal("A %s\n", persons[old].nick);
}

static void
deal_nick(struct client *c, struct message *m)
{
	char line[LINE_BYTES];
	uint32_t old = c->person, new;
	size_t len;

	if (nick_taken(c, m->text, m->len)) {
		reply(c, m, ERR_NICKNAMEINUSE);
		return;
	}
	if (c->stage != STAGE_IN) {
		(void)copy(c->nick, sizeof c->nick, m->text, m->len);
		reply(c, m, 0);
		return;
	}
	if ((new = person_make(m->text, m->len)) == NOBODY) {
		reply(c, m, ERR_NICKNAMEINUSE);
		return;
	}
	len = (size_t)snprintf(line, sizeof line, ":%s!%s@%s NICK :%.*s\r\n",
	    c->nick, c->user, c->host, (int)m->len, m->text);
	tell_sharers(c, line, len);
	(void)copy(c->nick, sizeof c->nick, m->text, m->len);
	message_start(&scratch->note, M_NICK);
	scratch->note.from = scratch->note.offset;
	if (new == old)
		(void)copy(persons[old].nick, NICK_BYTES, c->nick, m->len);
	else {
		persons[old].client = NOBODY;
		scratch->note.from = come_as(c, new, scratch->note.offset);
		move_rooms(old, new, scratch->note.offset);
		c->renamed_from = old;
		c->renamed_at = scratch->note.offset;
	}
	scratch->note.number = ++c->replays;
	scratch->note.len = (uint32_t)snprintf(scratch->note.text,
	    sizeof scratch->note.text, "%s\n%.*s",
	    c->nick, (int)len, line);
	client_post(c, &scratch->note);
	reply(c, m, 0);
}

static void
welcome(struct client *c)
{
	tell(c, &scratch->note, ":chat 001 %s :Welcome, %s", c->nick, c->nick);
	tell(c, &scratch->note, ":chat 002 %s :Your host is chat, running c-process",
	    c->nick);
	tell(c, &scratch->note, ":chat 003 %s :This server keeps what it is told", c->nick);
	tell(c, &scratch->note, ":chat 004 %s chat c-process o o", c->nick);
	tell(c, &scratch->note, ":chat 005 %s CASEMAPPING=ascii CHANTYPES=# NICKLEN=%d "
	    "CHANNELLEN=%d TOPICLEN=%d :are supported by this server", c->nick,
	    NICK_BYTES - 1, ROOM_BYTES - 1, TOPIC_BYTES - 1);
	tell(c, &scratch->note, ":chat 422 %s :There is no message of the day", c->nick);
}

static void
deal_register(struct client *c, struct message *m)
{
	struct word real, user = split(m, &real);
	uint32_t person = person_make(c->nick, strlen(c->nick));

	if (person == NOBODY) {
		reply(c, m, ENOSPC);
		return;
	}
	(void)copy(c->user, sizeof c->user, user.at, user.len);
	(void)copy(c->real, sizeof c->real, real.at, real.len);
	c->stage = STAGE_IN;
	message_start(&scratch->note, M_REGISTER);
	scratch->note.from = come_as(c, person, scratch->note.offset);
	scratch->note.number = ++c->replays;
	(void)message_text(&scratch->note, "%s\n", c->nick);
	welcome(c);
	client_post(c, &scratch->note);
	reply(c, m, 0);
}

static void
deal_part(struct client *c, struct message *m)
{
	char line[LINE_BYTES];
	struct word why, name = split(m, &why);
	uint32_t room = room_find(name.at, name.len), number;
	int len;

	if (room == NOBODY) {
		reply(c, m, ERR_NOSUCHCHANNEL);
		return;
	}
	if ((number = member_find(c->person, room)) == NOBODY) {
		reply(c, m, ERR_NOTONCHANNEL);
		return;
	}
	len = snprintf(line, sizeof line - 2, ":%s!%s@%s PART %s%s%.*s", c->nick,
	    c->user, c->host, rooms[room].name, why.len > 0 ? " :" : "",
	    (int)why.len, why.at);
	if (len > LINE_BYTES - 3)
		len = LINE_BYTES - 3;
	memcpy(line + len, "\r\n", 2);
	tell_room(room, c, line, (size_t)len + 2);
	message_start(&scratch->note, M_PART);
	scratch->note.value = room;
	scratch->note.len = (uint32_t)copy(scratch->note.text, sizeof scratch->note.text, line,
	    (size_t)len + 2);
	client_post(c, &scratch->note);
	journal("P %s %s\n", c->nick, rooms[room].name);
	if (members[number].present)
		atomic_fetch_sub(&shared->audience[room], 1);
	member_remove(number);
	m->number = room;
	reply(c, m, 0);
}

static void
deal_topic(struct client *c, struct message *m)
{
	struct word set, name = split(m, &set);
	uint32_t number = room_find(name.at, name.len), i;
	bool ask = set.len == 0;
	struct room *r;

	i = number == NOBODY ? NOBODY : member_find(c->person, number);
	if (i == NOBODY || !members[i].present) {
		reply(c, m, number == NOBODY ? ERR_NOSUCHCHANNEL :
		    ERR_NOTONCHANNEL);
		return;
	}
	r = &rooms[number];
	look_for_topic(number);
	message_start(&scratch->note, M_TEXT);
	if (ask && r->topic[0] == '\0')
		tell(c, &scratch->note, ":chat 331 %s %s :No topic is set", c->nick,
		    r->name);
	else if (ask)
		tell(c, &scratch->note, ":chat 332 %s %s :%s", c->nick, r->name, r->topic);
	tell_end(c, &scratch->note);
	reply(c, m, 0);
}

static void
deal_find(struct client *c, struct message *m)
{
	const char *nick;

	m->number = person_find(m->text, m->len);
	if (m->number == NOBODY) {
		reply(c, m, ERR_NOSUCHNICK);
		return;
	}
	nick = persons[m->number].nick;
	m->len = (uint32_t)copy(m->text, sizeof m->text, nick, strlen(nick));
	reply(c, m, 0);
}

static void
deal_names(struct client *c, struct message *m)
{
	uint32_t room = m->len > 0 ? room_find(m->text, m->len) : NOBODY;

	message_start(&scratch->note, M_TEXT);
	if (room != NOBODY)
		tell_names(c, &scratch->note, room);
	tell(c, &scratch->note, ":chat 366 %s %.*s :End of NAMES", c->nick,
	    m->len > 0 ? (int)m->len : 1, m->len > 0 ? m->text : "*");
	tell_end(c, &scratch->note);
	reply(c, m, 0);
}

/* The client has received all before an offset. So it has received the messages
 * for its former nick before the change, too. */
static void
received(struct client *c, uint64_t offset)
{
	uint32_t old = c->renamed_from;

	person_received(c->person, offset);
	journal("R %s %" PRIu64 "\n", c->nick, offset);
	if (old == NOBODY || offset < c->renamed_at)
		return;
	c->renamed_from = NOBODY;
	if (persons[old].client == NOBODY && persons[old].joined <= c->renamed_at) {
		person_received(old, c->renamed_at);
		journal("R %s %" PRIu64 "\n", persons[old].nick, c->renamed_at);
	}
}

/* Tells others that a client has gone, and frees its nick at the same moment. */
static void
leave(struct client *c)
{
	char line[LINE_BYTES];
	uint32_t i;
	int len;

	if (c->person != NOBODY) {
		len = snprintf(line, sizeof line - 2, ":%s!%s@%s QUIT :%s",
		    c->nick, c->user, c->host, c->why);
		if (len > LINE_BYTES - 3)
			len = LINE_BYTES - 3;
		memcpy(line + len, "\r\n", 2);
		announce_quit(c, line, (size_t)len + 2);
		for (i = persons[c->person].members; i != NOBODY;
		    i = members[i].next_of_person)
			if (members[i].present)
				atomic_fetch_sub(
				    &shared->audience[members[i].room], 1);
		person_away(c->person);
		persons[c->person].client = NOBODY;
		journal("A %s\n", c->nick);
	}
	c->person = NOBODY;
	c->nick[0] = '\0';
	c->stage = STAGE_LEAVING;
}

/* A client ends. It stays until SEND has sent the rest and says how much that is. */
static void
deal_quit(struct client *c, const struct message *m)
{
	if (c->stage == STAGE_LEAVING)
		return;
	(void)copy(c->why, sizeof c->why, m->text, m->len);
	c->in_order = m->value != 0;
	c->stage = STAGE_LEAVING;
	client_end(c, c->why, QUIT_MS);
}

/* SEND has ended: it has sent all before an offset. */
void
deal_done(struct client *c, uint64_t offset)
{
	if (c->stage != STAGE_LEAVING)
		return;
	if (c->person != NOBODY && c->in_order)
		received(c, offset);
	leave(c);
}

static void
kick(uint32_t slot, const struct message *news, uint64_t safe)
{
	struct message *m = &scratch->kick;

	if (atomic_exchange(&shared->slots[slot].kicked, 1) != 0)
		return;		/* the last KICK is still under way */
	m->type = M_KICK;
	m->safe = safe < news->from ? safe : news->from;
	client_post(&clients[slot], m);
}

static void
kick_all(const struct message *news, uint64_t safe)
{
	uint32_t i, count = atomic_load(&shared->clients);

	for (i = 0; i < count; i++)
		if (clients[i].stage == STAGE_IN)
			kick(i, news, safe);
}

static void
kick_room(uint32_t number, const struct client *but, const struct message *news,
    uint64_t safe)
{
	uint32_t i = rooms[number].members, slot;

	for (; i != NOBODY; i = members[i].next_of_room) {
		slot = persons[members[i].person].client;
		if (members[i].present && &clients[slot] != but)
			kick(slot, news, safe);
	}
}

/* The log has grown: tells the clients that hear its lines, then raises `told`. */
static void
deal_news(struct client *c, const struct message *m)
{
	struct slot *slot = &shared->slots[client_slot(c)];
	uint64_t safe = watermark();
	uint32_t i, target;

	for (i = 0; i < m->len / sizeof target; i++) {
		memcpy(&target, m->text + i * sizeof target, sizeof target);
		if (target & NEWS_PERSON) {
			target &= ~NEWS_PERSON;
			if (persons[target].last < m->offset)
				persons[target].last = m->offset;
			if (persons[target].client != NOBODY)
				kick(persons[target].client, m, safe);
		} else
			kick_room(target, c, m, safe);
	}
	if (m->value & NEWS_SELF)
		kick(client_slot(c), m, safe);
	if (m->value & NEWS_ALL) {
		learn(m->from, m->offset);
		kick_all(m, safe);
	}
	atomic_store(&slot->told, m->offset);
}

/* RECV is gone. Lines that it logged and did not announce are announced to all. */
void
deal_gone(struct client *c)
{
	struct slot *slot = &shared->slots[client_slot(c)];
	struct message m = { .type = M_NEWS, .value = NEWS_ALL };

	if (c->why[0] == '\0')
		(void)copy(c->why, sizeof c->why, "Connection lost", 15);
	leave(c);
	m.from = atomic_load(&slot->told);
	m.offset = atomic_load(&slot->said);
	if (m.offset > atomic_load(&shared->log_end))	/* its last lines are not published */
		m.offset = atomic_load(&shared->log_end);
	if (m.from < m.offset)
		deal_news(c, &m);
	atomic_store(&slot->told, atomic_load(&slot->said));
	client_remove(c);
}

static void
deal_log(struct client *c, struct message *m)
{
	uint32_t files = atomic_load(&shared->log_files);
	int error = logfile_mend();

	if (error == 0 && files != atomic_load(&shared->log_files)) {
		(void)folder_lock();	/* no other server can have it: ours had it */
		error = journal_rewrite();
	}
	reply(c, m, (uint32_t)error);
}

static void
deal_in(struct client *c, struct message *m)
{
	switch (m->type) {
	case M_JOIN:
		deal_join(c, m);
		break;
	case M_PART:
		deal_part(c, m);
		break;
	case M_FIND:
		deal_find(c, m);
		break;
	case M_TOPIC:
		deal_topic(c, m);
		break;
	case M_NAMES:
		deal_names(c, m);
		break;
	case M_WHO:
		message_start(&scratch->note, M_TEXT);
		tell_who(c, &scratch->note, m->text, m->len);
		tell_end(c, &scratch->note);
		reply(c, m, 0);
		break;
	default:
		client_kill(c);	/* our processes never send that */
	}
}

void
deal(struct client *c, struct message *m)
{
	bool in = c->stage == STAGE_IN;

	if (m->type != M_JOIN)
		announce();	/* this comes after them, for all */
	switch (m->type) {
	case M_HELLO:
		c->send_pid = (pid_t)m->value;
		break;
	case M_QUIT:
		deal_quit(c, m);
		break;
	case M_LOG:
		deal_log(c, m);
		break;
	case M_NEWS:
		deal_news(c, m);
		break;
	case M_NICK:
		deal_nick(c, m);
		break;
	case M_REGISTER:
		deal_register(c, m);
		break;
	case M_RECEIVED:
		/* SEND asked before it knew of the newest room or nick. It asks
		 * again; until then it is not known what of that was sent. */
		if (in && m->number == c->replays)
			received(c, m->offset);
		break;
	default:
		if (in)
			deal_in(c, m);
		else
			reply(c, m, ERR_NOTREGISTERED);
	}
}
