/*
 * command: the commands of a client, and the answers to them. A table has a
 * function for each; some of these are in join.c and register.c.
 */
#define LAYER L_COMMAND
#include "command.h"

#include <string.h>
#include <strings.h>

#include "join.h"
#include "keep.h"
#include "log.h"
#include "numeric.h"
#include "ping.h"
#include "record.h"
#include "register.h"

enum {
	PATIENCE_MS = 10000,	/* a guess: clients hang up after minutes */
};

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
			    ":chat 412 %s :Nothing is said", client_name(c));
		return;
	}
	while ((to = next_of(&w->word[0])) != NULL) {
		room = *to == '#' ? room_find(to) : NULL;
		nick = *to != '#' ? nick_find(to) : NULL;
		m = room != NULL ? member_find(c->member.nick, room) : NULL;
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
			    client_name(c));
		else if (wrong != 0 && tell)
			reply(c, ":chat %d %s %s :%s", wrong, client_name(c), to,
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
			reply(c, ":chat 332 %s %s :%s", client_name(c),
			    room->name.text, room->topic);
		else
			reply(c, ":chat 331 %s %s :No topic is set",
			    client_name(c), room->name.text);
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
	room_topic(room, text);
	keep_topic(room->name.text, room->topic);
	c->conn.queue.noted = keep_written;
}

static void
who(struct client *c, const char *room, const struct client *of)
{
	reply(c, ":chat 352 %s %s %s %s chat %s H :0 %s", client_name(c), room,
	    of->login.user, of->login.host, client_name(of), of->login.real);
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
	reply(c, ":chat 315 %s %s :End of WHO", client_name(c), name);
}

/* A PONG says that all the client has said is on the disk, and waits for that. */
static void
do_ping(struct client *c, struct words *w)
{
	const struct queue *q = &c->conn.queue;
	struct text text;

	if (w->count == 0 || *w->word[0] == '\0') {
		reply(c, ":chat 409 %s :No token", client_name(c));
		return;
	}
	text = news(":chat PONG chat :%s", w->word[0]);
	if (q->held.len > 0 || q->said > record.synced ||
	    (q->noted > keep_synced && !keep_broken))
		tell_held(&c->conn, &text);
	else
		tell(&c->conn, &text);
}

static void
do_pong(struct client *c, struct words *w)
{
	if (c->member.nick != NULL && w->count > 0)
		answered(c, w->word[w->count - 1]);
}

static void
do_quit(struct client *c, struct words *w)
{
	conn_end(&c->conn,
	    w->count > 0 && *w->word[0] != '\0' ? w->word[0] : "Quit", QUIT);
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
 * Whether a command has to wait. Answers must not overtake acknowledgements that
 * are held. A client has all that it has missed in a room before it joins the
 * next one. The answer to a PING comes behind missed messages, too, but after a
 * while without them.
 */
bool
command_waits(const struct command *command, const struct client *c)
{
	if (c->conn.queue.held.len > 0 &&
	    (command == NULL || !(command->how & LIGHT)))
		return true;
	if (c->member.behind == NULL || command == NULL)
		return false;
	return command->act == do_join || (command->act == do_ping &&
	    now_ms - c->member.behind_ms < PATIENCE_MS);
}

void
command_do(const struct command *command, struct client *c, char *name,
    char *rest)
{
	struct words words;

	split(rest, &words);
	if (c->member.nick == NULL &&
	    (command == NULL || !(command->how & EARLY)))
		reply(c, ":chat 451 %s :You are not registered", client_name(c));
	else if (command == NULL)
		reply(c, ":chat 421 %s %s :Not known", client_name(c), name);
	else if (words.count < command->words)
		reply(c, ":chat 461 %s %s :Words are missing", client_name(c),
		    command->name);
	else
		command->act(c, &words);
}
