/*
 * join: how a client comes into a room and leaves it.
 */
#ifndef JOIN_H
#define JOIN_H

#include "chat.h"
#if LAYER < L_JOIN
#error "join.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"

bool	 join_rest(struct client *);
void	 catch_up(void);
struct member *here(struct client *, const char *room);
void	 do_join(struct client *, struct words *);
void	 do_part(struct client *, struct words *);
void	 do_names(struct client *, struct words *);

#endif
