/*
 * sync: the disk takes its time, and the loop does not wait for it.
 */
#ifndef SYNC_H
#define SYNC_H

#include "chat.h"
#if LAYER < L_SYNC
#error "sync.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>

extern int	 sync_done;	/* readable when a sync has ended */

void	 sync_start(void);
void	 sync_begin(bool all);
void	 sync_end(void);
void	 sync_wait(void);
void	 sync_bound(void);

#endif
