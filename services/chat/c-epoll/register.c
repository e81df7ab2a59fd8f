/*
 * register: how a client becomes somebody, and somebody else: CAP, PASS, NICK,
 * USER.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "chat.h"

static void
set_prefix(struct client *c)
{
	size_t len = strlen(c->nick->name.text) + strlen(c->user) +
	    strlen(c->host) + sizeof ":!@";

	free(c->prefix);
	c->prefix = must(malloc(len));
	snprintf(c->prefix, len, ":%s!%s@%s", c->nick->name.text, c->user,
	    c->host);
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
	const char *nick = name_of(c);

	reply(c, ":chat 001 %s :Welcome, %s", nick, nick);
	reply(c, ":chat 002 %s :Your host is chat, a loop in C", nick);
	reply(c, ":chat 003 %s :Whoever is away misses nothing", nick);
	reply(c, ":chat 004 %s chat c-epoll - -", nick);
	reply(c, ":chat 005 %s CASEMAPPING=ascii CHANTYPES=# NICKLEN=%d "
	    "CHANNELLEN=%d TOPICLEN=%d :are supported", nick, NICK_BYTES,
	    ROOM_BYTES, TOPIC_BYTES);
	reply(c, ":chat 422 %s :No message of the day", nick);
}

/* A client takes a nick that is free; what was said to it comes next. */
static void
take(struct client *c, const char *name)
{
	struct nick *nick = nick_find(name);
	struct member *inbox;

	if (nick == NULL) {
		nick = nick_make(name);
		keep_member(&nick->inbox);
		c->noted = keep_written;
	}
	if (nick->leaving != NULL)
		settle(nick, true);	/* it has ended in order, as is seen */
	strcpy(nick->name.text, name);	/* but for the case, the same */
	nick->client = c;
	c->nick = nick;
	set_prefix(c);
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

	if (c->nick != NULL || c->wish == NULL || c->user == NULL ||
	    c->negotiating)
		return;
	if (!password_ok(c->pass)) {
		reply(c, ":chat 464 %s :The password is wrong", c->wish);
		doom(c, "The password is wrong", CUT);
		return;
	}
	nick = nick_find(c->wish);
	if (nick != NULL && nick->client != NULL) {
		reply(c, ":chat 433 * %s :The nick is in use", c->wish);
		free(c->wish);
		c->wish = NULL;
		return;
	}
	commit();
	take(c, c->wish);
	c->heard = now_ms;
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
		keep_member(to);
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
	struct nick *old = c->nick;
	struct text text = news("%s NICK :%s", c->prefix, name);

	queue(c, &text);
	neighbours_tell(c, &text);
	if (nick_find(name) == old) {
		strcpy(old->name.text, name);
		set_prefix(c);
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
			move(m, c->nick);
	old->client = NULL;
	for (uint32_t i = 0; i < c->asked; i++)
		c->asks[i].behind = NULL;
	c->noted = keep_written;
	c->behind = NULL;
	missed_begin(c);
}

void
do_nick(struct client *c, struct words *w)
{
	struct nick *nick;

	if (w->count == 0 || *w->word[0] == '\0') {
		reply(c, ":chat 431 %s :No nick is given", name_of(c));
		return;
	}
	if (!nick_ok(w->word[0])) {
		reply(c, ":chat 432 %s %s :The nick is wrong", name_of(c),
		    w->word[0]);
		return;
	}
	nick = nick_find(w->word[0]);
	if (nick != NULL && nick->client != NULL && nick->client != c) {
		reply(c, ":chat 433 %s %s :The nick is in use", name_of(c),
		    w->word[0]);
		return;
	}
	if (c->nick == NULL) {
		free(c->wish);
		c->wish = must(strdup(w->word[0]));
		try_register(c);
	} else if (strcmp(c->nick->name.text, w->word[0]) != 0)
		rename_to(c, w->word[0]);
}

void
do_user(struct client *c, struct words *w)
{
	if (c->user != NULL) {
		reply(c, ":chat 462 %s :You are registered", name_of(c));
		return;
	}
	c->user = must(strndup(w->word[0], USER_BYTES));
	c->real = must(strdup(w->word[3]));
	try_register(c);
}

void
do_pass(struct client *c, struct words *w)
{
	if (c->nick != NULL || c->pass != NULL)
		reply(c, ":chat 462 %s :You are registered", name_of(c));
	else
		c->pass = must(strdup(w->word[0]));
}

/* What is asked for is granted whole or not at all. */
static void
request(struct client *c, char *list)
{
	bool echo = c->echo, tagged = c->tagged, on;
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
			reply(c, ":chat CAP %s NAK :%s", name_of(c), list);
			return;
		}
	}
	tagged_count += tagged;
	tagged_count -= c->tagged;
	c->echo = echo;
	c->tagged = tagged;
	reply(c, ":chat CAP %s ACK :%s", name_of(c), list);
}

void
do_cap(struct client *c, struct words *w)
{
	const char *verb = w->word[0];

	if (strcasecmp(verb, "LS") == 0) {
		c->negotiating = c->nick == NULL;
		reply(c, ":chat CAP %s LS :echo-message server-time",
		    name_of(c));
	} else if (strcasecmp(verb, "LIST") == 0)
		reply(c, ":chat CAP %s LIST :%s%s%s", name_of(c),
		    c->echo ? "echo-message" : "",
		    c->echo && c->tagged ? " " : "",
		    c->tagged ? "server-time" : "");
	else if (strcasecmp(verb, "REQ") == 0) {
		c->negotiating = c->nick == NULL;
		request(c, w->count > 1 ? w->word[1] : (char[]){ "" });
	} else if (strcasecmp(verb, "END") == 0) {
		c->negotiating = false;
		try_register(c);
	} else
		reply(c, ":chat 410 %s %s :Not a word of CAP", name_of(c), verb);
}
