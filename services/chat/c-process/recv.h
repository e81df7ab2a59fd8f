/* The parts of the child RECV. */
#ifndef RECV_H
#define RECV_H

#include "chat.h"

/* say.c: output to the log, to main and to SEND */
void	answer(const char *, ...) __attribute__((format(printf, 1, 2)));
void	numeric(int, const char *, ...) __attribute__((format(printf, 2, 3)));
void	pong(const char *, size_t);
void	say(const char *, const struct word *, uint32_t, const struct word *);
int	say_all(void);
void	finish_batch(void);
uint32_t ask(struct message *, uint32_t, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
void	tell_send(struct message *);
_Noreturn void	leave(bool, const char *);

/* command.c */
void	command(const char *, size_t);

/* The client of RECV. */
struct own_room {
	uint32_t	number;
	size_t		len;
	char		name[ROOM_BYTES];
};

struct own {
	bool		registered, waits;	/* waits for CAP END */
	uint32_t	caps;
	pid_t		send_pid;
	char		nick[NICK_BYTES], user[USER_BYTES], real[REAL_BYTES];
	char		password[LINE_BYTES];
	char		prefix[PREFIX_BYTES + 8];	/* " :nick!user@host " */
	size_t		prefix_len;
	uint64_t	records;	/* of the state that it has caused */
	size_t		room_count;
	struct own_room	rooms[ROOMS_EACH];
};

extern struct own own;
extern struct message to_main;	/* and what main answers */

#endif
