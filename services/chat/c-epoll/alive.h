/*
 * alive: the PINGs that a client has not answered. What was queued before a
 * PING counts as received when the PING is answered.
 */
#ifndef ALIVE_H
#define ALIVE_H

#include "chat.h"
#if LAYER < L_ALIVE
#error "alive.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	ASKS = 4,		/* a guess: PINGs that may be unanswered */
};

struct member;

/* A PING, and what was queued before it. */
struct ask {
	uint32_t	 token;
	off_t		 end;		/* in the rooms that are live */
	struct member	*behind;	/* and in the one that was read */
	off_t		 sent;
};

struct alive {
	int64_t		 owed_ms;	/* it was sent something unasked since */
	struct ask	 asks[ASKS];
	uint32_t	 asked;		/* of them */
	uint32_t	 token;		/* of the last */
	bool		 prodded;	/* asked whether it is there at all */
};

bool	 alive_may_ask(const struct alive *);
void	 alive_ask(struct alive *, off_t end, struct member *, off_t sent);
bool	 alive_answer(struct alive *, const char *token, struct ask *);
void	 alive_forget(struct alive *, const struct member *);

#endif
