/*
 * queue: all that waits for one socket, in this order: late bytes, which it did
 * not take before; the pieces of this turn, in the arena of out.c; held bytes,
 * acknowledgements that wait for the disk and the answers behind them.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include "chat.h"
#if LAYER < L_QUEUE
#error "queue.h stands below the layer of this file: see chat.h"
#endif

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "line.h"

struct piece {
	const char	*text;
	size_t		 len;
	struct piece	*next;
};

struct queue {
	/* A line for the client touches these. */
	const char	*tail;		/* a text that begins here joins the last piece */
	struct piece	*first, *last;
	bool		 tagged;	/* wants server-time */
	bool		 echo;		/* wants echo-message */
	bool		 stalled;	/* all else waits for an echo that is held */

	bool		 torn;		/* the socket has taken part of a line */
	struct buffer	 late, held;
	size_t		 covered;	/* of held, by the sync under way */
	off_t		 said;		/* end of the client's last line in the log */
	uint64_t	 noted;		/* its last change of membership */
};

void	 queue_add(struct queue *, struct piece *);
int	 queue_gather(const struct queue *, struct iovec *, int vectors);
void	 queue_take(struct queue *, size_t);
bool	 queue_keep(struct queue *);
void	 queue_forget(struct queue *);
bool	 queue_hold(struct queue *, const char *, size_t);
bool	 queue_release(struct queue *, bool broken);
void	 queue_refuse(struct queue *);
void	 queue_cut(struct queue *);
size_t	 queue_unread(const struct queue *);
bool	 queue_empty(const struct queue *);

#endif
