/*
 * conn: a connection, which is a socket with its send queue, and the lists that
 * it may be on. By a list, a layer tells a later one that a connection is to be
 * looked at.
 */
#ifndef CONN_H
#define CONN_H

#include "chat.h"
#if LAYER < L_CONN
#error "conn.h stands below the layer of this file: see chat.h"
#endif

#include "queue.h"

/* From accept to close. A connection never goes back behind ENDING. */
enum state {
	ACTIVE,		/* its lines are obeyed */
	THROTTLED,	/* its lines wait: it reads too little, or waits itself */
	ENDING,		/* it ends with this turn */
	LINGERING,	/* others see it gone, but its socket takes what is queued */
	SHUT,		/* all is written and shutdown(2) has said so */
};

/* The stream that comes from the client. */
enum stream {
	STREAM_OPEN,
	STREAM_EOF,	/* there is an end, up to which it is read */
	STREAM_RESET,	/* broken; nothing can be written either */
};

/* How a client ends. After the last two it has received all that it was sent. */
enum how { BROKEN, CUT, QUIT, CLOSED };

enum listed { ALL, DIRTY, WRITTEN, HELD, AGAIN, READING, OWED, ENDED, LISTED };

struct link {
	struct conn	*next, *prev;
};

struct list {
	struct conn	*first, *last;
	enum listed	 which;
};

struct conn {
	uint32_t	 on;		/* a bit for each list that it is on */
	enum state	 state;
	struct queue	 queue;
	struct link	 links[LISTED];
	enum stream	 stream;
	enum how	 how;
	char		*why;		/* it ends */
	int		 fd;
	bool		 readable;	/* epoll has said so */
	bool		 full;		/* and that it will say when there is room */
	int64_t		 heard_ms;	/* the client last did something */
};

extern int64_t		now_ms;		/* of CLOCK_MONOTONIC, in this turn */
extern uint32_t		tagged_count;	/* connections with server-time */
extern struct list	again;		/* to be obeyed though epoll tells nothing */
extern struct list	ending;		/* end with this turn */

static inline bool
list_has(const struct list *list, const struct conn *c)
{
	return (c->on >> list->which & 1) != 0;
}

void	 list_push(struct list *, struct conn *);
void	 list_append(struct list *, struct conn *);
void	 list_remove(struct list *, struct conn *);
struct conn *list_pop(struct list *);
struct conn *list_next(const struct list *, const struct conn *);
struct list list_take(struct list *);

bool	 conn_stays(const struct conn *);
bool	 conn_deaf(const struct conn *);
void	 conn_throttle(struct conn *, bool);
void	 conn_tag(struct conn *, bool);
void	 conn_end(struct conn *, const char *why, enum how);
void	 conn_drain(struct conn *);
bool	 conn_all_read(const struct conn *);

#endif
