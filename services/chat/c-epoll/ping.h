/*
 * ping: clients are asked what they have received.
 */
#ifndef PING_H
#define PING_H

#include "chat.h"
#if LAYER < L_PING
#error "ping.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"

extern struct list	 owed;	/* to be asked, oldest first */

void	 owe(struct client *);
void	 owe_nothing(struct client *);
void	 asks_due(void);
int64_t	 asks_next(void);
void	 answered(struct client *, const char *token);

#endif
