/*
 * command: what a client may say.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "chat.h"
#if LAYER < L_COMMAND
#error "command.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"

struct command;

const struct command *command_find(const char *name);
bool	 command_waits(const struct command *, const struct client *);
void	 command_do(const struct command *, struct client *, char *name,
	    char *rest);

#endif
