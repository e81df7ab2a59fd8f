/*
 * chat, a process for each direction of each client. main accepts clients and owns
 * the tables. A child RECV reads lines of its client and appends messages to the
 * log. A child SEND reads the log and writes to the client. design.md says why.
 */
#ifndef CHAT_H
#define CHAT_H

#ifdef __linux__
#define _GNU_SOURCE	/* flock, close_range, MSG_NOSIGNAL with -std=c11 */
#endif
#include <sys/types.h>

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Many processes write to shared memory. A word that takes a lock of libatomic would
 * not be atomic: that lock is not shared. mips32 and ppc32 stop here. */
#if ATOMIC_LLONG_LOCK_FREE != 2 || ATOMIC_INT_LOCK_FREE != 2
#error "this machine has no 64-bit words that several processes can write"
#endif

/* Whether news and reading are as the paper has them: see multicast.c. The model
 * c-process-flock is built so. */
#ifdef AS_PUBLISHED
enum { PUBLISHED = 1 };
#else
enum { PUBLISHED = 0 };
#endif

enum {
	NICK_BYTES = 30 + 1,	/* with NUL, as all below */
	USER_BYTES = 10 + 1,
	HOST_BYTES = 46,	/* INET6_ADDRSTRLEN */
	REAL_BYTES = 128 + 1,	/* cut: a guess */
	ROOM_BYTES = 50 + 1,
	TOPIC_BYTES = 300 + 1,
	PREFIX_BYTES = NICK_BYTES + USER_BYTES + HOST_BYTES,
	LINE_BYTES = 512,	/* with its CR LF */
	TAGS_BYTES = 4096,	/* before the line; IRCv3 */
	TIME_BYTES = 24,	/* 2026-11-22T07:20:11.123Z */
	TEXT_BYTES = 4096,	/* the longest text of a message of processes */

	MAX_CLIENTS = 4096,	/* 8,192 processes: a guess, more are of no use */
	MAX_ROOMS = 16384,
	MAX_PERSONS = 1 << 18,	/* nicks that were ever here */
	MAX_MEMBERS = 1 << 19,
	ROOMS_EACH = 100,	/* rooms that a client is in at once */
	HELD_BYTES = 1 << 20,	/* what a client that does not read may hold */

	REGISTER_S = 30,
	FIRST_S = 10,		/* a guess: to register since the first bytes were seen */
	QUIET_S = 90,		/* then it is asked by PING */
	ANSWER_S = 30,		/* then it is ended */
	ASK_MS = 1000,		/* after messages: what has it received? */
	STALL_MS = 1000,	/* more than those, and to wait for a sync */
	QUIT_MS = 5000,		/* a guess: to read the rest */
	STOP_MS = 1000,		/* the same when the server ends, within 2 s */
	SET_MS = 10000,		/* a guess: a clock so far back was set */
};

/* All messages between processes. RECV asks main and waits for a REPLY. main and
 * RECV send to SEND, and SEND sends DONE to main. */
enum message_type {
	M_REPLY = 1,	/* main -> RECV: value is 0 or a numeric or an errno */
	M_HELLO,	/* RECV -> main: value is SEND's process id */
	M_NICK,		/* RECV: text is the nick wanted; SEND: the nick it has */
	M_REGISTER,	/* RECV: "user real"; SEND: welcome; from: missed since */
	M_JOIN,		/* RECV: room; SEND: value is the room's number */
	M_PART,		/* RECV: "room why"; SEND: value is the room's number */
	M_FIND,		/* RECV: was there ever such a nick? */
	M_TOPIC,	/* RECV: "room", or "room set": the log has a new one */
	M_NAMES,	/* RECV: room */
	M_WHO,		/* RECV: room or nick */
	M_NEWS,		/* RECV: it has logged from..offset; text is for whom */
	M_RECEIVED,	/* RECV: the client has all before offset, and of number */
	M_LOG,		/* RECV: the log is not where it was */
	M_QUIT,		/* RECV: the client ends; value: in order; text: why */
	M_TEXT,		/* to SEND: lines for the client */
	M_KICK,		/* to SEND: look into the log, from safe on */
	M_CAPS,		/* RECV -> SEND: value is a set of CAP_ */
	M_END,		/* to SEND: after offset, text, then close; value: ms */
	M_DONE,		/* SEND -> main: the end; value: all before offset was sent */
};

enum { CAP_ECHO = 1, CAP_TIME = 2 };
enum { NEWS_ALL = 1, NEWS_SELF = 2, NEWS_TARGETS = 64 };
#define NEWS_PERSON 0x80000000u

/* The targets of lines of the log: numbers of rooms, or of persons with
 * NEWS_PERSON. */
struct about {
	uint32_t	targets[NEWS_TARGETS];
	size_t		count;
	bool		topic;		/* the only line is one */
};

struct message {
	uint32_t	type, value;
	uint64_t	offset;		/* what of the log comes before this */
	uint64_t	safe;		/* all before it was announced: watermark() */
	uint64_t	from;
	uint32_t	len;		/* of text */
	uint32_t	number;		/* of a room or person, or of a replay */
	char		text[TEXT_BYTES];
};
enum { MESSAGE_HEAD = offsetof(struct message, text) };

/* Why SEND has ended a client that did not quit. */
enum ended { ENDED_NOT, ENDED_SERVER, ENDED_SLOW, ENDED_SILENT, ENDED_STRANGER, ENDED_BROKEN };

/* The state of a process at a lock: main looks for one that was stopped with it. */
enum lock_state { LOCK_FREE, LOCK_WANTED, LOCK_HELD, LOCK_STATES = 4 };

/* The words that the two processes of a client and main share. Each is atomic, so
 * that a death leaves nothing half done. */
struct slot {
	_Atomic uint32_t	kicked;		/* a KICK is under way */
	_Atomic uint32_t	heard_s;	/* when the client last said something */
	_Atomic uint32_t	ended;		/* enum ended */
	_Atomic uint32_t	recv_lock, send_lock;	/* count * LOCK_STATES + state */
	_Atomic uint32_t	behind;		/* main has messages that SEND has not */
	_Atomic uint64_t	asked;		/* the last offset asked for by PING */
	_Atomic uint64_t	said;		/* the end of what RECV has logged last */
	_Atomic uint64_t	told;		/* main has announced all of it before */
	char			pad[8];
};

struct shared {
	_Atomic uint64_t	log_end;	/* all lines before it are whole */
	_Atomic uint64_t	log_base;	/* the offset of the first byte of DATA/log */
	_Atomic uint64_t	log_synced;	/* all before it is on the disk */
	_Atomic uint64_t	log_ms;		/* time of the last line */
	_Atomic uint64_t	state_written, state_synced;	/* records of DATA/state */
	_Atomic uint32_t	log_writing;	/* a process writes, or has died in a write */
	_Atomic uint32_t	log_files;	/* grows when DATA/log is another file */
	_Atomic uint32_t	clients;		/* slots below this are in use */
	_Atomic uint32_t	audience[MAX_ROOMS];	/* clients in each room */
	_Atomic uint64_t	last[MAX_ROOMS];	/* the end of its last line */
	_Atomic uint64_t	topic_at[MAX_ROOMS];	/* its last topic: 1 + its offset */
	struct slot		slots[MAX_CLIENTS];
};

/* One word of a line, or its text; not ended by NUL. */
struct word {
	const char	*at;
	size_t		 len;
};

/* Compares without case in ASCII. Mostly the bytes are the same. */
static inline bool
same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (memcmp(a, b, a_len) == 0 ||
	    strncasecmp(a, b, a_len) == 0);
}

static inline bool
is_word(const struct word *word, const char *text)
{
	return same(word->at, word->len, text, strlen(text));
}

enum { MAX_WORDS = 15 };

struct line {
	struct word	command;
	struct word	words[MAX_WORDS];
	size_t		count;
};

/* A line of the log. */
struct said {
	struct word	time, nick, command, target;
	struct word	text;
	const char	*line;		/* from the colon of its sender */
	size_t		line_len;	/* without LF */
};

/* A child, and the descriptors that it has. */
struct self {
	uint32_t	slot;
	pid_t		parent;
	uint64_t	register_by_ms;
	char		host[HOST_BYTES];
};
enum { FD_CLIENT = 3, FD_MAIN, FD_SEND, FD_NEWS, FD_ALIVE, FD_FREE };

/* Paths of DATA/..., absolute: the folder may go and come back. */
struct paths {
	char	folder[PATH_MAX], log[PATH_MAX], sync[PATH_MAX];
	char	state[PATH_MAX], fresh[PATH_MAX], lock[PATH_MAX];
	char	password[PATH_MAX];
};

extern struct paths paths;
extern struct shared *shared;
extern struct self self;
extern volatile sig_atomic_t maybe_orphan;	/* RECV: main may be dead */

uint64_t watermark(void);
void	shared_raise(_Atomic uint64_t *, uint64_t);

/* log.c: reading, writing and syncing in the children */
int	log_append(char *, size_t, const struct about *, uint64_t *, uint64_t *);
int	log_sync(uint64_t, uint64_t);
int	log_read(uint64_t *, uint64_t, char *, size_t, size_t *);
int	log_read_shared(uint64_t *, uint64_t, char *, size_t, size_t *);
void	log_close(void);

/* logfile.c: the file itself; all but the first two are main's */
int	logfile_lock(int, int, _Atomic uint32_t *);
int	logfile_repair(int, uint64_t *);
void	logfile_start(uint64_t);
int	logfile_mend(void);
int	logfile_rotate(void);
int	folder_sync(void);

/* line.c: pure */
bool	line_parse(const char *, size_t, struct line *);
bool	said_parse(const char *, size_t, struct said *);
bool	nick_valid(const char *, size_t);
bool	room_valid(const char *, size_t);
void	time_text(uint64_t, char *);
size_t	copy(char *, size_t, const char *, size_t);

/* multicast.c: a signal to all processes, for those that are PUBLISHED */
void	multicast_start(void);
void	multicast(void);
bool	multicast_heard(void);
int	multicast_poll(struct pollfd *, nfds_t, int);

/* message.c */
int	message_send(int, struct message *, bool);
int	message_recv(int, struct message *, bool);
size_t	message_text(struct message *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* os.c: what differs between systems */
void	os_close_from(int);
pid_t	os_fork(void);
bool	os_die_with_parent(int);
void	os_title(const char *);
void	*os_pages(size_t);
void	*os_table(size_t);
void	*os_shared(size_t);
uint64_t os_clock_ms(void);
uint64_t os_time_ms(void);

/* The two children */
_Noreturn void	recv_main(pid_t);
_Noreturn void	send_main(void);

#endif
