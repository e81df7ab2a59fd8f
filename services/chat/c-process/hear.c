/*
 * Which lines of the log a client is to hear: pure.
 */
#include "hear.h"

#include <string.h>

/* False: it is in as many rooms as may be. */
bool
hear_join(struct hearer *h, uint32_t number, const char *name, size_t len)
{
	struct joined *j;

	if (h->joined_count == ROOMS_EACH)
		return false;
	j = &h->joined[h->joined_count++];
	j->number = number;
	j->len = copy(j->name, sizeof j->name, name, len);
	return true;
}

void
hear_part(struct hearer *h, uint32_t number)
{
	size_t i;

	for (i = 0; i < h->joined_count && h->joined[i].number != number; i++)
		continue;
	if (i < h->joined_count)
		h->joined[i] = h->joined[--h->joined_count];
}

static bool
is_in(const struct hearer *h, const struct word *room)
{
	size_t i;

	for (i = 0; i < h->joined_count; i++)
		if (same(h->joined[i].name, h->joined[i].len, room->at,
		    room->len))
			return true;
	return false;
}

static bool
is_nick(const struct hearer *h, const struct word *word)
{
	return same(word->at, word->len, h->nick, h->nick_len);
}

/* A line of the client itself comes back only as an echo, when it is on the disk. */
enum want
hear_live(const struct hearer *h, const struct said *said)
{
	bool mine = is_nick(h, &said->nick);
	bool room = said->target.len > 0 && said->target.at[0] == '#';

	if (room && !is_in(h, &said->target))
		return WANT_NOT;
	if (room && is_word(&said->command, "TOPIC"))
		return WANT;
	if (mine && (h->caps & CAP_ECHO))
		return WANT_SYNCED;
	if (room)
		return mine ? WANT_NOT : WANT;
	return is_nick(h, &said->target) ? WANT : WANT_NOT;
}

enum want
hear_replay(const struct hearer *h, const struct replay *r,
    const struct said *said)
{
	bool room = r->room[0] != '\0';

	if (!is_word(&said->target, room ? r->room : h->nick))
		return WANT_NOT;
	if (is_word(&said->command, "TOPIC"))
		return r->at >= r->live ? WANT : WANT_NOT;
	return room && is_nick(h, &said->nick) ? WANT_NOT : WANT;
}
