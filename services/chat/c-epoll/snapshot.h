/*
 * snapshot: DATA/members read at the start, and written anew from memory.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "chat.h"
#if LAYER < L_SNAPSHOT
#error "snapshot.h stands below the layer of this file: see chat.h"
#endif

void	 snapshot_load(const char *folder);
void	 snapshot_write(void);

#endif
