/*
 * The tables of main: all persons that were ever here, the rooms, the members of
 * each and how much of it they have had. No child has these tables.
 */
#ifndef STATE_H
#define STATE_H

#include "chat.h"

#define NOBODY UINT32_MAX	/* no person, room, member or client */

struct person {
	char		nick[NICK_BYTES];
	uint32_t	client;		/* its slot, or NOBODY */
	uint32_t	members;	/* first of the list */
	uint64_t	from;		/* it has missed messages for it from here on */
	uint64_t	joined;		/* it came at this offset: later answers count */
	uint64_t	last;		/* the end of the last message for it */
};

struct room {
	char		name[ROOM_BYTES];
	char		topic[TOPIC_BYTES];
	uint64_t	topic_at;	/* as in shared memory */
	uint32_t	members;	/* first of the list; none: the room is free */
	uint32_t	next_free;
};

struct member {
	uint32_t	person, room;
	uint32_t	next_of_person, next_of_room;
	bool		present;	/* has joined since it came */
	bool		untold;		/* its JOIN is not yet told to the room */
	bool		unsure;		/* has left, and may have had more than `from` */
	uint64_t	from, joined;	/* as for a person */
};

extern struct person *persons;
extern struct room *rooms;
extern struct member *members;
extern uint32_t person_count, room_count;

void		state_init(void);
uint32_t	person_find(const char *, size_t);
uint32_t	person_make(const char *, size_t);
uint32_t	room_find(const char *, size_t);
uint32_t	room_make(const char *, size_t);
uint32_t	member_find(uint32_t person, uint32_t room);
uint32_t	member_make(uint32_t person, uint32_t room);
void		member_remove(uint32_t member);
void		person_received(uint32_t person, uint64_t offset);
void		person_away(uint32_t person);
void		person_come(uint32_t person, uint64_t offset);

/* journal.c: the tables in DATA/state */
void		journal_load(void);
uint64_t	journal_records(void);
void		journal(const char *, ...) __attribute__((format(printf, 1, 2)));
void		journal_tick(void);
int		journal_rewrite(void);

#endif
