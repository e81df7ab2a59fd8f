/*
 * Which lines of the log a client is to hear.
 */
#ifndef HEAR_H
#define HEAR_H

#include "chat.h"

struct joined {
	uint32_t	number;
	size_t		len;
	char		name[ROOM_BYTES];
};

/* A client: its nick, and the rooms that it is in. */
struct hearer {
	char		nick[NICK_BYTES];
	size_t		nick_len;
	uint32_t	caps;
	struct joined	joined[ROOMS_EACH];
	size_t		joined_count;
};

/* A part of the log that is read again for one room, or for the nick. SEND may
 * have read on in the log before it was told of the room: from `live` on it wants
 * the lines that it would have wanted then. */
struct replay {
	uint64_t	at, live, to;
	uint32_t	number;			/* main counts them */
	char		room[ROOM_BYTES];	/* empty: the nick */
};

enum want { WANT_NOT, WANT, WANT_SYNCED };

bool	hear_join(struct hearer *, uint32_t, const char *, size_t);
void	hear_part(struct hearer *, uint32_t);
enum want hear_live(const struct hearer *, const struct said *);
enum want hear_replay(const struct hearer *, const struct replay *,
	    const struct said *);

#endif
