/*
 * register: how a client gets a nick, and another one.
 */
#ifndef REGISTER_H
#define REGISTER_H

#include "chat.h"
#if LAYER < L_REGISTER
#error "register.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"

void	 password_in(const char *folder);
void	 do_cap(struct client *, struct words *);
void	 do_pass(struct client *, struct words *);
void	 do_nick(struct client *, struct words *);
void	 do_user(struct client *, struct words *);

#endif
