/*
 * missed: messages that a client has missed are read from the log.
 */
#ifndef MISSED_H
#define MISSED_H

#include "chat.h"
#if LAYER < L_MISSED
#error "missed.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"

void	 missed_begin(struct client *);
void	 missed_go_on(struct client *);
bool	 missed_waits(void);
struct client *missed_next(void);
bool	 missed_read(struct client *);
void	 go_on(void);

#endif
