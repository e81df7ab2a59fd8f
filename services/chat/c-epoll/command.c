/*
 * command: what a client may say, and what it is answered. A table has the
 * words, and there is a function for each of them; those by which it becomes
 * somebody are in register.c.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "chat.h"
#include "numeric.h"

enum {
	PATIENCE_MS = 10000,	/* a guess: clients hang up after minutes */
};

const char *
name_of(const struct client *c)
{
	if (c->nick != NULL)
		return c->nick->name.text;
	return c->wish != NULL ? c->wish : "*";
}

static void
message(struct client *c, struct words *w, const char *command)
{
	bool tell = *command != 'N';	/* a NOTICE is never answered */
	struct room *room;
	struct nick *nick;
	struct member *m;
	char *to;
	int wrong;

	if (w->count < 2 || *w->word[1] == '\0') {
		if (tell)
			reply(c, w->count == 0 || *w->word[0] == '\0' ?
			    ":chat 411 %s :For whom?" :
			    ":chat 412 %s :Nothing is said", name_of(c));
		return;
	}
	while ((to = next_of(&w->word[0])) != NULL) {
		room = *to == '#' ? room_find(to) : NULL;
		nick = *to != '#' ? nick_find(to) : NULL;
		m = room != NULL ? member_find(c->nick, room) : NULL;
		if (*to == '#' && !room_ok(to))
			wrong = ERR_NOSUCHCHANNEL;
		else if (*to == '#' && (m == NULL || !m->here))
			wrong = ERR_CANNOTSENDTOCHAN;
		else if (*to != '#' && nick == NULL)
			wrong = ERR_NOSUCHNICK;
		else
			wrong = say(c, command, room, nick, w->word[1]) ? 0 :
			    ERR_INPUTTOOLONG;
		if (wrong == ERR_INPUTTOOLONG && tell)
			reply(c, ":chat 417 %s :The line would be too long",
			    name_of(c));
		else if (wrong != 0 && tell)
			reply(c, ":chat %d %s %s :%s", wrong, name_of(c), to,
			    wrong == ERR_NOSUCHNICK ? "No such nick" :
			    wrong == ERR_NOSUCHCHANNEL ? "No such room" :
			    "You are not in it");
	}
}

static void
do_privmsg(struct client *c, struct words *w)
{
	message(c, w, "PRIVMSG");
}

static void
do_notice(struct client *c, struct words *w)
{
	message(c, w, "NOTICE");
}

static void
do_names(struct client *c, struct words *w)
{
	char *name;

	if (w->count == 0)
		room_names(c, NULL, "*");
	else
		while ((name = next_of(&w->word[0])) != NULL)
			room_names(c, room_find(name), name);
}

static void
do_topic(struct client *c, struct words *w)
{
	struct member *m = here(c, w->word[0]);
	struct room *room;
	off_t before;
	char *text;

	if (m == NULL)
		return;
	room = m->room;
	if (w->count == 1) {
		if (room->topic != NULL)
			reply(c, ":chat 332 %s %s :%s", name_of(c),
			    room->name.text, room->topic);
		else
			reply(c, ":chat 331 %s %s :No topic is set",
			    name_of(c), room->name.text);
		return;
	}
	text = w->word[1];
	text[strnlen(text, TOPIC_BYTES)] = '\0';
	commit();
	before = record.end;
	say(c, "TOPIC", room, NULL, text);
	commit();
	if (record.end == before)
		return;		/* it is not in the log */
	free(room->topic);
	room->topic = *text != '\0' ? must(strdup(text)) : NULL;
	keep_topic(room);
	c->noted = keep_written;
}

static void
who(struct client *c, const char *room, const struct client *of)
{
	reply(c, ":chat 352 %s %s %s %s chat %s H :0 %s", name_of(c), room,
	    of->user, of->host, name_of(of), of->real);
}

static void
do_who(struct client *c, struct words *w)
{
	const char *name = w->count > 0 ? w->word[0] : "*";
	struct room *room = room_find(name);
	struct nick *nick = nick_find(name);

	for (uint32_t i = 0; room != NULL && i < room->here; i++)
		who(c, room->name.text, room->places[i].client);
	if (nick != NULL && nick->client != NULL)
		who(c, "*", nick->client);
	reply(c, ":chat 315 %s %s :End of WHO", name_of(c), name);
}

/*
 * The answer says that all it has said is on the disk, and waits until it is.
 */
static void
do_ping(struct client *c, struct words *w)
{
	struct text text;

	if (w->count == 0 || *w->word[0] == '\0') {
		reply(c, ":chat 409 %s :No token", name_of(c));
		return;
	}
	text = news(":chat PONG chat :%s", w->word[0]);
	if (c->held.len > 0 || c->said > record.synced ||
	    (c->noted > keep_synced && !keep_broken))
		hold(c, text.form[0], text.len[0]);
	else
		queue(c, &text);
}

static void
do_pong(struct client *c, struct words *w)
{
	if (c->nick != NULL && w->count > 0)
		answered(c, w->word[w->count - 1]);
}

static void
do_quit(struct client *c, struct words *w)
{
	doom(c, w->count > 0 && *w->word[0] != '\0' ? w->word[0] : "Quit", LEFT);
}

enum { EARLY = 1, LIGHT = 2 };

static const struct command {
	const char	*name;
	int		 words;		/* that there must be */
	int		 how;		/* before registration; before a PONG */
	void		(*act)(struct client *, struct words *);
} commands[] = {
	{ "PRIVMSG", 0, LIGHT, do_privmsg },
	{ "PONG", 0, EARLY | LIGHT, do_pong },
	{ "PING", 0, EARLY | LIGHT, do_ping },
	{ "NOTICE", 0, LIGHT, do_notice },
	{ "JOIN", 1, 0, do_join },
	{ "NICK", 0, EARLY, do_nick },
	{ "USER", 4, EARLY, do_user },
	{ "CAP", 1, EARLY, do_cap },
	{ "PASS", 1, EARLY, do_pass },
	{ "PART", 1, 0, do_part },
	{ "NAMES", 0, 0, do_names },
	{ "TOPIC", 1, 0, do_topic },
	{ "WHO", 0, 0, do_who },
	{ "QUIT", 0, EARLY, do_quit },
};

const struct command *
command_find(const char *name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcasecmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

/*
 * Answers must not overtake acknowledgements that are held, and each room is
 * whole, with what was missed, before the next one is joined. A PING asks for
 * what came before it, which may be this as well, but it does not wait for
 * ever.
 */
bool
command_waits(const struct command *command, const struct client *c)
{
	if (c->held.len > 0 && (command == NULL || !(command->how & LIGHT)))
		return true;
	if (c->behind == NULL || command == NULL)
		return false;
	return command->act == do_join || (command->act == do_ping &&
	    now_ms - c->behind_ms < PATIENCE_MS);
}

void
command_do(const struct command *command, struct client *c, char *name, char *rest)
{
	struct words words;

	split(rest, &words);
	if (c->nick == NULL && (command == NULL || !(command->how & EARLY)))
		reply(c, ":chat 451 %s :You are not registered", name_of(c));
	else if (command == NULL)
		reply(c, ":chat 421 %s %s :Not known", name_of(c), name);
	else if (words.count < command->words)
		reply(c, ":chat 461 %s %s :Words are missing", name_of(c),
		    command->name);
	else
		command->act(c, &words);
}
