/*
 * end: how a client ends.
 */
#ifndef END_H
#define END_H

#include "chat.h"
#if LAYER < L_END
#error "end.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>

extern bool	 stopping;	/* the server ends, too */

bool	 reap(void);
bool	 lingers(void);

#endif
