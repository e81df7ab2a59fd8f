/*
 * log: messages, and replies, which come behind them.
 */
#ifndef LOG_H
#define LOG_H

#include "chat.h"
#if LAYER < L_LOG
#error "log.h stands below the layer of this file: see chat.h"
#endif

#include "client.h"
#include "out.h"

bool	 say(struct client *, const char *command, struct room *, struct nick *,
	    const char *text);
void	 commit(void);
void	 log_check(void);
struct text news(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 reply(struct client *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

#endif
