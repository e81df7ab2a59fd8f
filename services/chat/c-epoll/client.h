/*
 * client: a connection with all that belongs to it.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "chat.h"
#if LAYER < L_CLIENT
#error "client.h stands below the layer of this file: see chat.h"
#endif

#include "alive.h"
#include "conn.h"
#include "login.h"
#include "member.h"

struct input {
	struct buffer	 carry;		/* read, not obeyed */
	bool		 skipping;	/* the rest of a line that is too long */
};

struct client {
	struct conn		 conn;		/* first: see client_of */
	struct membership	 member;
	struct alive		 alive;
	struct login		 login;
	struct input		 input;
};

enum waiting { NOBODY, SOMEBODY, NO_ROOM };

extern struct list	 clients;	/* all of them */

struct client *client_of(struct conn *);
const char *client_name(const struct client *);
enum waiting	 client_accept(int loop, int listener);
void	 client_free(struct client *);

#endif
