/*
 * register: how a client gets a nick, and another one: CAP, PASS, NICK, USER.
 */
#define LAYER L_REGISTER
#include "register.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "keep.h"
#include "log.h"
#include "missed.h"
#include "record.h"
#include "room.h"

static char password_path[4096];

void
password_in(const char *folder)
{
	snprintf(password_path, sizeof password_path, "%s/password", folder);
}

/*
 * Whether the word is the first line of DATA/password, if there is such a
 * file.
 */
static bool
password_ok(const char *word)
{
	char line[LINE_BYTES] = "";
	FILE *file;

	if (access(password_path, F_OK) == -1 && errno == ENOENT)
		return true;
	if ((file = fopen(password_path, "re")) == NULL)
		return false;
	if (fgets(line, sizeof line, file) == NULL)
		*line = '\0';
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	return word != NULL && strcmp(word, line) == 0;
}

static void
greet(struct client *c)
{
	const char *nick = client_name(c);

	reply(c, ":chat 001 %s :Welcome, %s", nick, nick);
	reply(c, ":chat 002 %s :Your host is chat, a loop in C", nick);
	reply(c, ":chat 003 %s :Whoever is away misses nothing", nick);
	reply(c, ":chat 004 %s chat c-epoll - -", nick);
	reply(c, ":chat 005 %s CASEMAPPING=ascii CHANTYPES=# NICKLEN=%d "
	    "CHANNELLEN=%d TOPICLEN=%d :are supported", nick, NICK_BYTES,
	    ROOM_BYTES, TOPIC_BYTES);
	reply(c, ":chat 422 %s :No message of the day", nick);
}

/* A client takes a nick that is free; messages for the nick come next. */
static void
take(struct client *c, const char *name)
{
	struct nick *nick = nick_find(name);
	struct member *inbox;

	if (nick == NULL) {
		nick = nick_make(name);
		member_note(&nick->inbox);
		c->conn.queue.noted = keep_written;
	}
	if (nick->leaving != NULL)
		settle(nick, true);	/* its last client ended in order */
	strcpy(nick->name.text, name);	/* but for the case, the same */
	nick->client = c;
	c->member.nick = nick;
	login_prefix(&c->login, name);
	inbox = &nick->inbox;
	inbox->here = true;
	inbox->sent = inbox->received;
	if (nick->last <= inbox->received)
		room_live(inbox);
}

static void
try_register(struct client *c)
{
	struct nick *nick;

	if (c->member.nick != NULL || !login_complete(&c->login))
		return;
	if (!password_ok(c->login.pass)) {
		reply(c, ":chat 464 %s :The password is wrong", c->login.wish);
		conn_end(&c->conn, "The password is wrong", CUT);
		return;
	}
	nick = nick_find(c->login.wish);
	if (nick != NULL && nick->client != NULL) {
		reply(c, ":chat 433 * %s :The nick is in use", c->login.wish);
		free(c->login.wish);
		c->login.wish = NULL;
		return;
	}
	commit();
	take(c, c->login.wish);
	c->conn.heard_ms = now_ms;
	greet(c);
	missed_begin(c);
}

/* In one room: the place goes from the old nick to the new. */
static void
move(struct member *from, struct nick *nick)
{
	struct member *to = member_find(nick, from->room);
	off_t sent = from->live ? record.end : from->sent;
	bool live = from->live, seen = true;
	uint32_t live_at = from->live_at;

	if (to == NULL) {
		to = member_make(nick, from->room, from->received);
		member_note(to);
	} else
		seen = to->received >= from->since;
	to->since = from->since;
	to->skip = live ? record.end : to->since;
	to->sent = seen && sent > to->received ? sent : to->received;
	room_exit(from);
	room_enter(to);
	if (live && seen) {
		room_live(to);
		to->live_at = live_at;
	}
	member_received(from, sent);
}

/* The old nick stays a member; the new one becomes one, of where it is. */
static void
rename_to(struct client *c, const char *name)
{
	struct nick *old = c->member.nick;
	struct text text = news("%s NICK :%s", c->login.prefix, name);

	tell(&c->conn, &text);
	neighbours_tell(c, &text);
	if (nick_find(name) == old) {
		strcpy(old->name.text, name);
		login_prefix(&c->login, name);
		return;
	}
	if (old->inbox.live)
		member_received(&old->inbox, record.end);
	else
		member_received(&old->inbox, old->inbox.sent);
	old->inbox.here = old->inbox.live = false;
	take(c, name);
	for (struct member *m = old->inbox.next; m != NULL; m = m->next)
		if (m->here)
			move(m, c->member.nick);
	old->client = NULL;
	alive_forget(&c->alive, NULL);
	c->conn.queue.noted = keep_written;
	c->member.behind = NULL;
	missed_begin(c);
}

void
do_nick(struct client *c, struct words *w)
{
	struct nick *nick;

	if (w->count == 0 || *w->word[0] == '\0') {
		reply(c, ":chat 431 %s :No nick is given", client_name(c));
		return;
	}
	if (!nick_ok(w->word[0])) {
		reply(c, ":chat 432 %s %s :The nick is wrong", client_name(c),
		    w->word[0]);
		return;
	}
	nick = nick_find(w->word[0]);
	if (nick != NULL && nick->client != NULL && nick->client != c) {
		reply(c, ":chat 433 %s %s :The nick is in use", client_name(c),
		    w->word[0]);
		return;
	}
	if (c->member.nick == NULL) {
		free(c->login.wish);
		c->login.wish = must(strdup(w->word[0]));
		try_register(c);
	} else if (strcmp(c->member.nick->name.text, w->word[0]) != 0)
		rename_to(c, w->word[0]);
}

void
do_user(struct client *c, struct words *w)
{
	if (c->login.user != NULL) {
		reply(c, ":chat 462 %s :You are registered", client_name(c));
		return;
	}
	c->login.user = must(strndup(w->word[0], USER_BYTES));
	c->login.real = must(strdup(w->word[3]));
	try_register(c);
}

void
do_pass(struct client *c, struct words *w)
{
	if (c->member.nick != NULL || c->login.pass != NULL)
		reply(c, ":chat 462 %s :You are registered", client_name(c));
	else
		c->login.pass = must(strdup(w->word[0]));
}

/* Grants all capabilities that are asked for, or none. */
static void
request(struct client *c, char *list)
{
	struct queue *q = &c->conn.queue;
	bool echo = q->echo, tagged = q->tagged, on;
	char asked[LINE_BYTES], *word, *rest = asked;

	snprintf(asked, sizeof asked, "%s", list);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		on = *word != '-';
		word += !on;
		if (strcmp(word, "echo-message") == 0)
			echo = on;
		else if (strcmp(word, "server-time") == 0)
			tagged = on;
		else {
			reply(c, ":chat CAP %s NAK :%s", client_name(c), list);
			return;
		}
	}
	q->echo = echo;
	conn_tag(&c->conn, tagged);
	reply(c, ":chat CAP %s ACK :%s", client_name(c), list);
}

void
do_cap(struct client *c, struct words *w)
{
	const struct queue *q = &c->conn.queue;
	const char *verb = w->word[0];

	if (strcasecmp(verb, "LS") == 0) {
		c->login.negotiating = c->member.nick == NULL;
		reply(c, ":chat CAP %s LS :echo-message server-time",
		    client_name(c));
	} else if (strcasecmp(verb, "LIST") == 0)
		reply(c, ":chat CAP %s LIST :%s%s%s", client_name(c),
		    q->echo ? "echo-message" : "",
		    q->echo && q->tagged ? " " : "",
		    q->tagged ? "server-time" : "");
	else if (strcasecmp(verb, "REQ") == 0) {
		c->login.negotiating = c->member.nick == NULL;
		request(c, w->count > 1 ? w->word[1] : (char[]){ "" });
	} else if (strcasecmp(verb, "END") == 0) {
		c->login.negotiating = false;
		try_register(c);
	} else
		reply(c, ":chat 410 %s %s :Not a word of CAP", client_name(c), verb);
}
