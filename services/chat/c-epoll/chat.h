/*
 * chat, one event loop: the nouns, and which file does what with them. All
 * belong to the loop; a second thread, in sync.c, only waits for the disk.
 */
#ifndef CHAT_H
#define CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	LINE_BYTES = 512,	/* RFC 1459, 2.3: a line with its end */
	TAGS_BYTES = 4096,	/* IRCv3, message-tags: with @ and blank */
	NICK_BYTES = 30,
	USER_BYTES = 10,
	ROOM_BYTES = 50,
	TOPIC_BYTES = 300,
	ROOMS = 100,		/* in which one nick may be */
	WORDS = 15,		/* RFC 1459, 2.3.1 */
	TIME_BYTES = 24,	/* 2026-11-22T07:20:11.123Z */
	ASKS = 4,		/* a guess: PINGs that may be unanswered */
	LATE_BYTES = 1 << 20,	/* what a client may leave unread */
	EASE_BYTES = 65536,	/* a guess: with more unread, nobody is obeyed */
};

/* table.c: things found by their names, without case */
struct name {
	struct name	*next;
	uint32_t	 hash;
	char		*text;
};

struct table {
	struct name	**slots;
	size_t		  size, count;
};

struct name *table_find(const struct table *, const char *);
void	 table_add(struct table *, struct name *, const char *);
void	 table_remove(struct table *, struct name *);
void	*must(void *);		/* memory that must be there */

/* line.c: what a line is made of */
struct buffer {
	char	*bytes;
	size_t	 start, len, room;
};

struct words {
	int	 count;
	char	*word[WORDS];
};

bool	 buffer_add(struct buffer *, const char *, size_t);
void	 buffer_drop(struct buffer *, size_t);
char	*command_of(char *line);
void	 split(char *text, struct words *);
bool	 too_long(const char *line, size_t len);
bool	 nick_ok(const char *);
bool	 room_ok(const char *);
char	*next_of(char **list);

/*
 * A nick that was ever here, the rooms it is a member of, and what it has had
 * of each. All offsets are places in the log, as if it had been one file from
 * the first start.
 */
struct member {
	struct nick	*nick;
	struct room	*room;		/* NULL: what is said to the nick alone */
	struct member	*next;		/* of the nick's */
	off_t		 received;	/* all before is with the client for certain */
	off_t		 sent;		/* all before was queued, unless live */
	off_t		 since, skip;	/* of which it has seen all as another nick */
	uint32_t	 place;		/* in the room */
	uint32_t	 live_at;	/* PINGs sent before it went live */
	bool		 here;
	bool		 live;		/* what is said is queued as it is said */
};

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

struct room {
	struct name	 name;
	char		*topic;
	struct place	*places;	/* first who are live, then who catch up */
	uint32_t	 live, here, size;
	uint32_t	 members;	/* here or not */
	off_t		 last;		/* end of its last line in the log */
};

/* A PING, and what was queued before it. */
struct ask {
	uint32_t	 token;
	off_t		 end;		/* for those live */
	struct member	*behind;	/* and for the one that was read */
	off_t		 sent;
};

struct piece {
	const char	*text;
	size_t		 len;
	struct piece	*next;
};

/*
 * How a client ends: its connection is broken; we end it; it has ended in
 * order.
 */
enum end { STAYS, BROKEN, CUT, LEFT };

struct client {
	/* what a line to it touches */
	const char	*tail;		/* end of the last piece: what begins there joins it */
	int64_t		 owed;		/* since when a PING is due; 0: not */
	struct piece	*first, *last;	/* for it in this turn */
	bool		 tagged;	/* wants server-time */
	bool		 echo;		/* wants echo-message */
	bool		 deaf;		/* gets nothing more */
	bool		 stalled;	/* what comes waits for an echo that is held */

	bool		 dirty, again, reading, holding;	/* on these lists */
	bool		 readable, full, torn, skipping, waiting;
	bool		 eof, reset, negotiating, shut;
	bool		 hung_up;	/* its stream has ended, and nothing else ends it */
	enum end	 end_as;
	int		 fd;
	struct buffer	 carry;		/* read, not obeyed */
	struct buffer	 late;		/* what the socket did not take */
	struct buffer	 held;		/* acknowledgements, until the disk has it */
	size_t		 covered;	/* of held, by the sync under way */
	off_t		 said;		/* end of its last line in the log */
	uint64_t	 noted;		/* its last change of membership */
	struct nick	*nick;		/* NULL: not registered */
	struct member	*behind;	/* that is read from the log */
	int64_t		 behind_ms;	/* since when */
	struct ask	 asks[ASKS];
	uint32_t	 token;		/* of the last PING */
	uint32_t	 asked;		/* PINGs that are not answered */
	uint32_t	 stamp;		/* of the last news told once each */
	int64_t		 heard;		/* when it last said something */
	bool		 prodded;	/* asked whether it is still there */
	char		*wish;		/* the nick it wants to register with */
	char		*joins;		/* rooms that come after what it reads */
	char		*user, *real, *pass;
	char		*prefix;	/* :nick!user@host */
	char		*why;		/* it ends */
	char		 host[48];
	struct client	*dirty_next, *again_next, *reading_next, *held_next;
	struct client	*doomed_next, *owed_next, *owed_prev;
	struct client	*linger_next;
	struct client	*prev, *next;	/* of all */
};

/* chat.c: the loop */
extern int64_t	 now_ms;
extern bool	 ending;
extern char	 password_path[];
void	 run_again(struct client *);

/* client.c, end.c: a connection from accept to close */
extern struct client	*clients;
extern uint32_t		 client_count, tagged_count;
enum waiting { NOBODY, SOMEBODY, NO_ROOM };
enum waiting	 welcome(int loop, int listener);
void	 ready(struct client *, uint32_t events);
void	 obey(struct client *);
void	 drain(struct client *);
void	 doom(struct client *, const char *why, enum end);
bool	 reap(void);
bool	 lingers(void);
void	 sweep(void);
void	 settle(struct nick *, bool received);

/* command.c, join.c, register.c */
struct command;
const char *name_of(const struct client *);
const struct command *command_find(const char *name);
bool	 command_waits(const struct command *, const struct client *);
bool	 join_rest(struct client *);
struct member *here(struct client *, const char *room);
void	 do_join(struct client *, struct words *);
void	 do_part(struct client *, struct words *);
void	 command_do(const struct command *, struct client *, char *name, char *rest);
void	 do_cap(struct client *, struct words *);
void	 do_nick(struct client *, struct words *);
void	 do_pass(struct client *, struct words *);
void	 do_user(struct client *, struct words *);

/* out.c: what goes to clients in a turn */
struct text {
	const char	*form[2];	/* plain, with time */
	size_t		 len[2];
};

struct text said_text(const char *line, size_t len);
struct text news(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 reply(struct client *, const char *, ...) __attribute__((format(printf, 2, 3)));
void	 queue(struct client *, const struct text *);
void	 keep_late(struct client *);
void	 flush(void);
void	 mark_dirty(struct client *);

/* room.c, member.c */
extern struct table	 rooms, nicks;
struct room	*room_find(const char *);
struct room	*room_make(const char *);
void	 room_leave(struct room *);
void	 room_tell(struct room *, const struct text *);
void	 room_enter(struct member *);
void	 room_exit(struct member *);
void	 room_live(struct member *);
void	 room_names(struct client *, struct room *, const char *);
void	 neighbours_tell(struct client *, const struct text *);
struct nick	*nick_find(const char *);
struct nick	*nick_make(const char *);
struct member	*member_find(const struct nick *, const struct room *);
struct member	*member_make(struct nick *, struct room *, off_t received);
void	 member_remove(struct member *);
void	 member_received(struct member *, off_t);
void	 owe(struct client *);
void	 owe_nothing(struct client *);
void	 ask(struct client *);
void	 answered(struct client *, const char *token);
void	 asks_due(void);
int64_t	 asks_next(void);

/* log.c: DATA/log, and the messages of this turn */
struct log {
	int	 fd;
	dev_t	 dev;
	ino_t	 ino;
	off_t	 base;		/* what its first byte is the place of */
	off_t	 floor;		/* nothing before can be read any more */
	off_t	 end;
	off_t	 synced;	/* all before is on the disk */
};

extern struct log	 record;
const char *log_open(const char *folder, bool first);
void	 log_check(void);
const char *log_time(void);
bool	 say(struct client *, const char *command, struct room *, struct nick *, const char *text);
void	 commit(void);

/* sync.c: the disk's own time */
void	 hold(struct client *, const char *, size_t);
void	 sync_start(void);
void	 sync_begin(bool all);
void	 sync_end(void);
void	 sync_wait(void);
void	 sync_bound(void);
extern int		 sync_done;
extern struct client	*held_clients;

/* keep.c: DATA/members */
extern uint64_t	 keep_written, keep_synced;
extern bool	 keep_broken, keep_grown;
void	 keep_load(const char *folder);
void	 keep_snapshot(void);
void	 keep_member(const struct member *);
void	 keep_part(const struct member *);
void	 keep_topic(const struct room *);
void	 keep_write(void);
bool	 keep_sync(void);	/* the only one that sync.c's thread calls */

/* missed.c: what a client has missed, read from the log */
void	 missed_begin(struct client *);
void	 missed_read(void);
bool	 missed_waits(void);
void	 missed_go_on(struct client *);

#endif
