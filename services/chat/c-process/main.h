/* The parts of main: the clients, and what is done for them. */
#ifndef MAIN_H
#define MAIN_H

#include "state.h"

#include <sys/socket.h>

/* CALLING: connected, but it has said nothing, and has no processes. */
enum stage { STAGE_FREE, STAGE_CALLING, STAGE_NEW, STAGE_IN, STAGE_LEAVING };

struct client {
	uint64_t	origin;		/* see origin_of */
	enum stage	stage;
	bool		in_order;	/* it has said that it goes */
	int		recv_fd, send_fd;	/* CALLING: recv_fd is its socket */
	pid_t		recv_pid, send_pid;
	uint32_t	person;
	uint32_t	renamed_from;	/* a person; how much it has received until */
	uint64_t	renamed_at;	/* this offset is known by a later answer */
	uint32_t	replays;	/* that SEND was told to send */
	uint32_t	round;		/* told already, in this round */
	uint32_t	locks[2];	/* seen at the last tick */
	uint64_t	end_by_ms;	/* killed then, if it is still there */
	uint64_t	call;		/* connections are counted */
	char		nick[NICK_BYTES], user[USER_BYTES], host[HOST_BYTES];
	char		real[REAL_BYTES];
	char		why[LINE_BYTES];	/* it ends */
	char		*queue;		/* messages that SEND has no room for yet */
	size_t		queue_head, queue_tail;
};

/* Clients that come into one room together, or leave it: see announce.c. */
enum { ANNOUNCED_MOST = 128 };	/* a guess: about as many lines as fit */
struct joiner {
	struct client	*client;
	uint32_t	member;
	uint32_t	start, end;	/* of its line */
	bool		fresh;		/* never in that room before */
};
struct announced {
	uint32_t	type;		/* M_JOIN or M_QUIT */
	uint32_t	room, count, len;
	struct joiner	joiners[ANNOUNCED_MOST];
	char		text[TEXT_BYTES];	/* their lines */
};

/* Messages that main makes. Like the tables, no child has them: of a page that
 * main writes after a fork, the child would keep a copy. */
struct scratch {
	struct message	request, note, line, end, kick;
	struct announced announced;
};

extern struct client *clients;
extern struct scratch *scratch;
extern int alive_read, alive_write;	/* closed when main ends */

/* client.c */
void	client_init(void);
void	client_call(int, const struct sockaddr *);
void	client_answer(struct client *);
void	client_post(struct client *, struct message *);
void	client_flush(struct client *);
void	client_unqueue(struct client *);
void	client_end(struct client *, const char *, int);
void	client_remove(struct client *);
void	client_tick(bool);
void	client_kill(struct client *);
uint32_t client_slot(const struct client *);
uint32_t client_count(void);

/* origin.c */
enum { ORIGIN_BYTES = HOST_BYTES + 3 };	/* an address, perhaps with /64 */

void	origin_init(uint64_t);
uint64_t origin_of(const struct sockaddr *);
bool	origin_admits(const struct sockaddr *, char *);
void	origin_tick(bool);

/* main.c */
int	folder_lock(void);

/* deal.c */
void	deal(struct client *, struct message *);
void	deal_done(struct client *, uint64_t);
void	deal_gone(struct client *);
void	reply(struct client *, struct message *, uint32_t);

/* announce.c */
void	deal_join(struct client *, struct message *);
void	announce(void);
void	announce_quit(struct client *, const char *, size_t);

/* learn.c */
void	look_for_topic(uint32_t);
void	learn(uint64_t, uint64_t);

/* tell.c: lines that main makes */
void	tell(struct client *, struct message *, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
void	tell_end(struct client *, struct message *);
void	tell_room(uint32_t, const struct client *, const char *, size_t);
void	tell_sharers(struct client *, const char *, size_t);
void	tell_names(struct client *, struct message *, uint32_t);
void	tell_who(struct client *, struct message *, const char *, size_t);
void	message_start(struct message *, uint32_t);

#endif
