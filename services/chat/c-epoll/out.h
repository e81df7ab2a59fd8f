/*
 * out: lines for clients. A text stands in the arena of the turn, in two forms
 * at most; tell queues it for a client, flush writes the queues.
 */
#ifndef OUT_H
#define OUT_H

#include "chat.h"
#if LAYER < L_OUT
#error "out.h stands below the layer of this file: see chat.h"
#endif

#include <stdarg.h>

#include "conn.h"

struct text {
	const char	*form[2];	/* plain, with time */
	size_t		 len[2];
};

extern struct list	written;	/* flush has written to these */
extern struct list	held;		/* have acknowledgements that are held */

struct text text_said(const char *line, size_t len);
struct text text_news(const char *, ...) __attribute__((format(printf, 1, 2)));
struct text text_format(const char *, va_list)
	__attribute__((format(printf, 1, 0)));
void	 tell(struct conn *, const struct text *);
void	 tell_held(struct conn *, const struct text *);
void	 answer(struct conn *, const struct text *);
void	 release(struct conn *);
void	 mark_dirty(struct conn *);
void	 flush(void);

#endif
