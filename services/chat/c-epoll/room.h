/*
 * room: the clients that are in a room.
 */
#ifndef ROOM_H
#define ROOM_H

#include "chat.h"
#if LAYER < L_ROOM
#error "room.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"
#include "out.h"

void	 room_enter(struct member *);
void	 room_exit(struct member *);
void	 room_live(struct member *);
void	 room_tell(struct room *, const struct text *);
void	 neighbours_tell(struct client *, const struct text *);

#endif
