/*
 * obey: what a client sends is cut into lines, which are obeyed.
 */
#ifndef OBEY_H
#define OBEY_H

#include "chat.h"
#if LAYER < L_OBEY
#error "obey.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"

void	 ready(struct client *, uint32_t events);
void	 obey(struct client *);
void	 sweep(void);

#endif
