/*
 * login: what a client says of itself, before it is registered above all.
 */
#ifndef LOGIN_H
#define LOGIN_H

#include "chat.h"
#if LAYER < L_LOGIN
#error "login.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>
#include <sys/socket.h>

struct login {
	bool	 negotiating;	/* CAP: registration waits for its END */
	char	*wish;		/* the nick it wants to register with */
	char	*user, *real, *pass;
	char	*prefix;	/* :nick!user@host, since it is registered */
	char	 host[48];
};

void	 login_from(struct login *, const struct sockaddr *);
bool	 login_complete(const struct login *);
void	 login_prefix(struct login *, const char *nick);
void	 login_free(struct login *);

#endif
