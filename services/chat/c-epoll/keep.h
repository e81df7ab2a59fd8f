/*
 * keep: DATA/members, the file: notes of changes are gathered, then appended.
 */
#ifndef KEEP_H
#define KEEP_H

#include "chat.h"
#if LAYER < L_KEEP
#error "keep.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

extern uint64_t	 keep_written, keep_synced;	/* changes */
extern bool	 keep_broken, keep_grown;	/* it is to be written anew */

FILE	*keep_open(const char *folder);
const char *keep_path(void);
void	 keep_member(const char *nick, const char *room, off_t received);
void	 keep_part(const char *nick, const char *room);
void	 keep_topic(const char *room, const char *topic);
void	 keep_write(void);
bool	 keep_fresh(void);
void	 keep_whole(void);
bool	 keep_sync(void);	/* the one function that sync.c's thread calls */

#endif
