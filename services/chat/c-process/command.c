/* The commands of IRC, as RECV obeys them. */
#include "numeric.h"
#include "recv.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct own_room *
own_room(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < own.room_count; i++)
		if (same(own.rooms[i].name, own.rooms[i].len, name, len))
			return &own.rooms[i];
	return NULL;
}

/* Takes the next word of a list with commas. */
static bool
next_of(struct word *list, struct word *one)
{
	const char *comma;

	do {
		if (list->len == 0)
			return false;
		comma = memchr(list->at, ',', list->len);
		one->at = list->at;
		one->len = comma != NULL ? (size_t)(comma - list->at) : list->len;
		list->at += one->len;
		list->len -= one->len;
		if (comma != NULL) {
			list->at++;
			list->len--;
		}
	} while (one->len == 0);
	return true;
}

/* The word of PASS must be the first line of DATA/password, if there is one. */
static bool
password_right(void)
{
	char right[LINE_BYTES];
	int fd = open(paths.password, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd == -1)
		return true;
	len = read(fd, right, sizeof right - 1);
	(void)close(fd);
	if (len < 0)
		return false;
	right[len] = '\0';
	right[strcspn(right, "\r\n")] = '\0';
	return strcmp(right, own.password) == 0;
}

static void
try_register(void)
{
	if (own.registered || own.waits || own.nick[0] == '\0' ||
	    own.user[0] == '\0')
		return;
	if (!password_right()) {
		numeric(ERR_PASSWDMISMATCH, ":Password incorrect");
		leave(false, "Closing link: wrong password");
	}
	if (ask(&to_main, M_REGISTER, "%s %s", own.user, own.real) != 0)
		leave(false, "Closing link: there is no room for another nick");
	own.registered = true;
}

static void
set_prefix(void)
{
	own.prefix_len = (size_t)snprintf(own.prefix, sizeof own.prefix,
	    " :%s!%s@%s ", own.nick, own.user, self.host);
}

static void
do_nick(const struct line *l)
{
	const struct word *w = &l->words[0];
	uint32_t error;

	if (l->count < 1 || w->len == 0) {
		numeric(ERR_NONICKNAMEGIVEN, ":No nickname given");
		return;
	}
	if (!nick_valid(w->at, w->len)) {
		numeric(ERR_ERRONEUSNICKNAME, "%.*s :Erroneous nickname",
		    w->len > 64 ? 64 : (int)w->len, w->at);
		return;
	}
	if (strlen(own.nick) == w->len && memcmp(own.nick, w->at, w->len) == 0)
		return;
	error = ask(&to_main, M_NICK, "%.*s", (int)w->len, w->at);
	if (error != 0) {
		numeric((int)error, "%.*s :Nickname is already in use",
		    (int)w->len, w->at);
		return;
	}
	(void)copy(own.nick, sizeof own.nick, w->at, w->len);
	set_prefix();
	try_register();
}

/* A word of a prefix has no byte that would end it. */
static void
set_user(const struct word *w)
{
	size_t i, len = copy(own.user, sizeof own.user, w->at, w->len);

	for (i = 0; i < len; i++)
		if (own.user[i] == '!' || own.user[i] == '@' ||
		    own.user[i] == ' ')
			own.user[i] = '_';
	if (len == 0)
		(void)copy(own.user, sizeof own.user, "_", 1);
}

static void
do_user(const struct line *l)
{
	if (own.registered || own.user[0] != '\0') {
		numeric(ERR_ALREADYREGISTERED, ":You may not reregister");
		return;
	}
	set_user(&l->words[0]);
	(void)copy(own.real, sizeof own.real, l->words[3].at, l->words[3].len);
	set_prefix();
	try_register();
}

static void
do_pass(const struct line *l)
{
	if (own.registered)
		numeric(ERR_ALREADYREGISTERED, ":You may not reregister");
	else
		(void)copy(own.password, sizeof own.password, l->words[0].at,
		    l->words[0].len);
}

static void
tell_caps(const char *verb, const char *text, size_t len)
{
	answer(":chat CAP %s %s :%.*s", own.nick[0] != '\0' ? own.nick : "*",
	    verb, (int)len, text);
}

/* Applies a list of capabilities; false if the server lacks one of them. */
static bool
apply_caps(const struct word *list, uint32_t *caps)
{
	const char *at = list->at, *end = at + list->len, *blank;
	struct word one;
	uint32_t bit;
	bool off;

	for (; at < end; at = blank < end ? blank + 1 : end) {
		blank = memchr(at, ' ', (size_t)(end - at));
		if (blank == NULL)
			blank = end;
		off = at < blank && *at == '-';
		one.at = off ? at + 1 : at;
		one.len = (size_t)(blank - one.at);
		if (one.len == 0)
			continue;
		bit = is_word(&one, "echo-message") ? CAP_ECHO :
		    is_word(&one, "server-time") ? CAP_TIME : 0;
		if (bit == 0)
			return false;
		*caps = off ? *caps & ~bit : *caps | bit;
	}
	return true;
}

static void
request_caps(const struct word *list)
{
	uint32_t caps = own.caps;
	bool good = apply_caps(list, &caps);

	finish_batch();		/* earlier lines are under the old capabilities */
	if (good) {
		own.caps = caps;
		to_main.type = M_CAPS;
		to_main.value = caps;
		to_main.len = 0;
		tell_send(&to_main);
	}
	tell_caps(good ? "ACK" : "NAK", list->at, list->len);
}

static void
do_cap(const struct line *l)
{
	static const struct word nothing = { "", 0 };
	const struct word *sub = &l->words[0];

	if (is_word(sub, "LS")) {
		own.waits = !own.registered;
		tell_caps("LS", "echo-message server-time", 24);
	} else if (is_word(sub, "LIST"))
		answer(":chat CAP %s LIST :%s%s%s",
		    own.nick[0] != '\0' ? own.nick : "*",
		    own.caps & CAP_ECHO ? "echo-message" : "",
		    own.caps == (CAP_ECHO | CAP_TIME) ? " " : "",
		    own.caps & CAP_TIME ? "server-time" : "");
	else if (is_word(sub, "REQ")) {
		own.waits = !own.registered;
		request_caps(l->count > 1 ? &l->words[1] : &nothing);
	} else if (is_word(sub, "END")) {
		own.waits = false;
		try_register();
	} else
		numeric(ERR_INVALIDCAPCMD, "%.*s :Invalid CAP command",
		    sub->len > 64 ? 64 : (int)sub->len, sub->at);
}

static void
no_such_room(const struct word *name)
{
	numeric(ERR_NOSUCHCHANNEL, "%.*s :No such channel",
	    name->len > 64 ? 64 : (int)name->len, name->at);
}

static void
join_room(const struct word *name)
{
	struct own_room *room;
	uint32_t error = ERR_NOSUCHCHANNEL;

	if (own_room(name->at, name->len) != NULL)
		return;
	if (!room_valid(name->at, name->len)) {
		no_such_room(name);
		return;
	}
	if (own.room_count == ROOMS_EACH)
		error = ERR_TOOMANYCHANNELS;
	else
		error = ask(&to_main, M_JOIN, "%.*s", (int)name->len, name->at);
	if (error == ERR_TOOMANYCHANNELS)
		numeric(ERR_TOOMANYCHANNELS,
		    "%.*s :You have joined too many channels",
		    (int)name->len, name->at);
	else if (error != 0)
		no_such_room(name);
	else {
		room = &own.rooms[own.room_count++];
		room->number = to_main.number;
		room->len = copy(room->name, sizeof room->name, to_main.text,
		    to_main.len);
	}
}

static void
do_join(const struct line *l)
{
	struct word list = l->words[0], name;

	while (next_of(&list, &name))
		join_room(&name);
}

static void
part_room(const struct word *name, const struct word *why)
{
	struct own_room *room;
	uint32_t error = ERR_NOSUCHCHANNEL;

	if (room_valid(name->at, name->len))
		error = ask(&to_main, M_PART, "%.*s%s%.*s", (int)name->len, name->at,
		    why != NULL && why->len > 0 ? " " : "",
		    why != NULL ? (int)why->len : 0, why != NULL ? why->at : "");
	if (error == ERR_NOTONCHANNEL)
		numeric(ERR_NOTONCHANNEL, "%.*s :You're not on that channel",
		    (int)name->len, name->at);
	else if (error != 0)
		no_such_room(name);
	else if ((room = own_room(name->at, name->len)) != NULL)
		*room = own.rooms[--own.room_count];
}

static void
do_part(const struct line *l)
{
	struct word list = l->words[0], name;

	while (next_of(&list, &name))
		part_room(&name, l->count > 1 ? &l->words[1] : NULL);
}

/* Finds a target: its number and its name as others know it, or a numeric. */
static int
find_target(const struct word *to, uint32_t *target, struct word *name)
{
	static char known[NICK_BYTES];
	static uint32_t known_number;
	bool room = to->at[0] == '#';
	const struct own_room *mine = room ? own_room(to->at, to->len) : NULL;
	uint32_t error;

	if (mine != NULL) {
		*target = mine->number;
		*name = (struct word){ mine->name, mine->len };
		return 0;
	}
	if (room)
		return room_valid(to->at, to->len) ? ERR_CANNOTSENDTOCHAN :
		    ERR_NOSUCHCHANNEL;
	if (!nick_valid(to->at, to->len))
		return ERR_NOSUCHNICK;
	if (same(known, strlen(known), to->at, to->len)) {
		*target = known_number | NEWS_PERSON;
		*name = (struct word){ known, strlen(known) };
		return 0;
	}
	error = ask(&to_main, M_FIND, "%.*s", (int)to->len, to->at);
	if (error != 0)
		return (int)error;
	(void)copy(known, sizeof known, to_main.text, to_main.len);
	known_number = to_main.number;
	*target = known_number | NEWS_PERSON;
	*name = (struct word){ known, strlen(known) };
	return 0;
}

static void
say_to(const char *verb, const struct word *to, const struct word *text)
{
	bool quiet = verb[0] == 'N';	/* a NOTICE has no errors */
	struct word name = *to;
	uint32_t target = 0;
	int error = find_target(to, &target, &name);
	size_t whole = own.prefix_len - 1 + strlen(verb) + name.len + text->len +
	    sizeof "  :\r\n" - 1;

	if (error == 0 && whole > LINE_BYTES)
		error = ERR_INPUTTOOLONG;
	if (error == 0)
		say(verb, &name, target, text);
	else if (quiet)
		return;
	else if (error == ERR_NOSUCHNICK)
		numeric(ERR_NOSUCHNICK, "%.*s :No such nick",
		    to->len > 64 ? 64 : (int)to->len, to->at);
	else if (error == ERR_NOSUCHCHANNEL)
		no_such_room(to);
	else if (error == ERR_CANNOTSENDTOCHAN)
		numeric(ERR_CANNOTSENDTOCHAN, "%.*s :Cannot send to channel",
		    (int)to->len, to->at);
	else
		numeric(ERR_INPUTTOOLONG, ":Input line was too long");
}

static void
do_say(const struct line *l, const char *verb)
{
	bool quiet = verb[0] == 'N';
	struct word list, to;

	if (l->count < 1 || l->words[0].len == 0) {
		if (!quiet)
			numeric(ERR_NORECIPIENT, ":No recipient given (%s)",
			    verb);
		return;
	}
	if (l->count < 2 || l->words[1].len == 0) {
		if (!quiet)
			numeric(ERR_NOTEXTTOSEND, ":No text to send");
		return;
	}
	list = l->words[0];
	while (next_of(&list, &to))
		say_to(verb, &to, &l->words[1]);
}

static void
do_privmsg(const struct line *l)
{
	do_say(l, "PRIVMSG");
}

static void
do_notice(const struct line *l)
{
	do_say(l, "NOTICE");
}

static void
do_topic(const struct line *l)
{
	const struct word *name = &l->words[0];
	const struct own_room *room = own_room(name->at, name->len);
	uint32_t error = ERR_NOSUCHCHANNEL;
	size_t len;

	if (room == NULL || l->count < 2) {
		if (room_valid(name->at, name->len))
			error = ask(&to_main, M_TOPIC, "%.*s", (int)name->len, name->at);
		if (error == ERR_NOTONCHANNEL)
			numeric(ERR_NOTONCHANNEL,
			    "%.*s :You're not on that channel",
			    (int)name->len, name->at);
		else if (error != 0)
			no_such_room(name);
		return;
	}
	len = l->words[1].len < TOPIC_BYTES - 1 ? l->words[1].len :
	    TOPIC_BYTES - 1;
	finish_batch();
	say("TOPIC", &(struct word){ room->name, room->len }, room->number,
	    &(struct word){ l->words[1].at, len });
	if (say_all() == 0)
		(void)ask(&to_main, M_TOPIC, "%s set", room->name);
}

static void
do_names(const struct line *l)
{
	struct word list, name;

	if (l->count < 1) {
		(void)ask(&to_main, M_NAMES, "%s", "");
		return;
	}
	list = l->words[0];
	while (next_of(&list, &name))
		(void)ask(&to_main, M_NAMES, "%.*s", name.len > 64 ? 64 :
		    (int)name.len, name.at);
}

static void
do_who(const struct line *l)
{
	(void)ask(&to_main, M_WHO, "%.*s", l->words[0].len > 64 ? 64 :
	    (int)l->words[0].len, l->words[0].at);
}

static void
do_ping(const struct line *l)
{
	if (l->count < 1 || l->words[0].len == 0)
		numeric(ERR_NOORIGIN, ":No origin specified");
	else
		pong(l->words[0].at, l->words[0].len);
}

/* Reads the digits before end; false if there is anything else. */
static bool
number_of(const char *at, const char *end, uint64_t *value)
{
	*value = 0;
	if (at == end || end - at > 18)
		return false;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + (uint64_t)(*at - '0');
	return at == end;
}

/* An answer to SEND's PING, whose token is an offset of the log and the number of
 * replays before it. */
static void
do_pong(const struct line *l)
{
	const struct word *w = l->count > 0 ? &l->words[l->count - 1] : NULL;
	const char *dot = w != NULL ? memchr(w->at, '.', w->len) : NULL;
	uint64_t offset, replays;

	if (dot == NULL || !own.registered ||
	    !number_of(w->at, dot, &offset) ||
	    !number_of(dot + 1, w->at + w->len, &replays) || offset == 0 ||
	    offset > atomic_load(&shared->slots[self.slot].asked))
		return;
	to_main.type = M_RECEIVED;
	to_main.offset = offset;
	to_main.number = (uint32_t)replays;
	to_main.len = 0;
	(void)message_send(FD_MAIN, &to_main, true);
}

static void
do_quit(const struct line *l)
{
	char why[LINE_BYTES] = "Quit";

	if (l->count > 0 && l->words[0].len > 0)
		(void)copy(why, sizeof why, l->words[0].at, l->words[0].len);
	leave(true, why);
}

enum { ANY_TIME = 1, SILENT = 2 };

#define COMMAND(name) { name, sizeof name - 1 }

static const struct {
	struct word	name;
	void		(*obey)(const struct line *);
	size_t		words;		/* fewer are answered with 461 */
	int		flags;
} commands[] = {
	{ COMMAND("PRIVMSG"), do_privmsg, 0, 0 },
	{ COMMAND("PING"), do_ping, 0, ANY_TIME },
	{ COMMAND("PONG"), do_pong, 0, ANY_TIME },
	{ COMMAND("NOTICE"), do_notice, 0, SILENT },
	{ COMMAND("JOIN"), do_join, 1, 0 },
	{ COMMAND("PART"), do_part, 1, 0 },
	{ COMMAND("NICK"), do_nick, 0, ANY_TIME },
	{ COMMAND("USER"), do_user, 4, ANY_TIME },
	{ COMMAND("PASS"), do_pass, 1, ANY_TIME },
	{ COMMAND("CAP"), do_cap, 1, ANY_TIME },
	{ COMMAND("QUIT"), do_quit, 0, ANY_TIME },
	{ COMMAND("TOPIC"), do_topic, 1, 0 },
	{ COMMAND("NAMES"), do_names, 0, 0 },
	{ COMMAND("WHO"), do_who, 1, 0 },
};

/* Obeys a line without its end. */
void
command(const char *at, size_t len)
{
	struct line l;
	size_t i;

	if (!line_parse(at, len, &l))
		return;
	for (i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (same(l.command.at, l.command.len, commands[i].name.at,
		    commands[i].name.len))
			break;
	if (i == sizeof commands / sizeof commands[0])
		numeric(
		    own.registered ? ERR_UNKNOWNCOMMAND : ERR_NOTREGISTERED,
		    own.registered ? "%.*s :Unknown command" :
		    "%.*s :You have not registered",
		    l.command.len > 64 ? 64 : (int)l.command.len, l.command.at);
	else if (!own.registered && !(commands[i].flags & ANY_TIME)) {
		if (!(commands[i].flags & SILENT))
			numeric(ERR_NOTREGISTERED, ":You have not registered");
	} else if (l.count < commands[i].words)
		numeric(ERR_NEEDMOREPARAMS, "%s :Not enough parameters",
		    commands[i].name.at);
	else
		commands[i].obey(&l);
}
