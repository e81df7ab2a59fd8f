/*
 * member: nicks, rooms, and which nick is a member of which room, there or not.
 * All offsets are places in the log.
 */
#ifndef MEMBER_H
#define MEMBER_H

#include "chat.h"
#if LAYER < L_MEMBER
#error "member.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>
#include <sys/types.h>

#include "table.h"

/* A nick in a room, and how much of what was said there it has had. */
struct member {
	struct nick	*nick;
	struct room	*room;		/* NULL: messages for the nick alone */
	struct member	*next;		/* of the nick's */
	off_t		 received;	/* the client has all before for certain */
	off_t		 sent;		/* all before was queued, unless live */
	off_t		 since, skip;	/* it has seen these as another nick */
	uint32_t	 place;		/* in the room */
	uint32_t	 live_at;	/* PINGs sent before it went live */
	bool		 here;
	bool		 live;		/* messages are queued as they are said */
};

/* A nick that was ever here. */
struct nick {
	struct name	 name;
	struct client	*client;	/* NULL: away */
	struct client	*leaving;	/* the last, while its end is not known */
	struct member	 inbox;		/* its next are the rooms */
	off_t		 last;		/* end of the last line for the inbox */
	uint32_t	 rooms;
};

struct place {
	struct client	*client;
	struct member	*member;
};

/* A room, with a place for each member that is here. See room.c. */
struct room {
	struct name	 name;
	char		*topic;
	struct place	*places;	/* first those live, then others */
	uint32_t	 live, here, size;
	uint32_t	 members;	/* here or not */
	off_t		 last;		/* end of its last line in the log */
};

/* Which nick a client has, and what it has to read from the log. */
struct membership {
	struct nick	*nick;		/* NULL: not registered */
	struct member	*behind;	/* this is read from the log */
	int64_t		 behind_ms;	/* since then */
	char		*joins;		/* rooms to be joined after that */
	uint32_t	 stamp;		/* of the last news told once each */
};

extern struct table	 rooms, nicks;

struct room	*room_find(const char *);
struct room	*room_make(const char *);
void	 room_topic(struct room *, const char *);
struct nick	*nick_find(const char *);
struct nick	*nick_make(const char *);
struct member	*member_find(const struct nick *, const struct room *);
struct member	*member_make(struct nick *, struct room *, off_t received);
void	 member_remove(struct member *);
void	 member_note(const struct member *);
void	 member_received(struct member *, off_t);
void	 settle(struct nick *, bool received);

#endif
