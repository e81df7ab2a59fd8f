/*
 * login: what a client says of itself, and the address that it comes from.
 */
#define LAYER L_LOGIN
#include "login.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

void
login_from(struct login *l, const struct sockaddr *addr)
{
	*l->host = '0';		/* before what begins with a colon */
	if (addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6,
		    &((const struct sockaddr_in6 *)addr)->sin6_addr,
		    l->host + 1, sizeof l->host - 1);
	else
		inet_ntop(AF_INET,
		    &((const struct sockaddr_in *)addr)->sin_addr,
		    l->host + 1, sizeof l->host - 1);
	if (l->host[1] != ':')
		memmove(l->host, l->host + 1, strlen(l->host));
}

/* Whether it has said all that registration takes. */
bool
login_complete(const struct login *l)
{
	return l->wish != NULL && l->user != NULL && !l->negotiating;
}

/* From now on its lines begin with this nick. */
void
login_prefix(struct login *l, const char *nick)
{
	size_t len = strlen(nick) + strlen(l->user) + strlen(l->host) +
	    sizeof ":!@";

	free(l->prefix);
	l->prefix = must(malloc(len));
	snprintf(l->prefix, len, ":%s!%s@%s", nick, l->user, l->host);
}

void
login_free(struct login *l)
{
	free(l->wish);
	free(l->user);
	free(l->real);
	free(l->pass);
	free(l->prefix);
}
