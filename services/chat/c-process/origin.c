/*
 * Where clients come from. One address could take all places, so the clients of
 * each are bounded. There is no counter for an address: when a client comes, all
 * clients are looked through, a cache line each. So no count can be wrong after an
 * unusual end.
 */
#include "daemon.h"
#include "main.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { TELL_MS = 60000 };	/* a guess: one line for a flood of clients */

static uint64_t most;		/* clients of one origin; 0: any number */
static uint64_t sent_away;	/* since the last line about them */
static uint64_t told_ms;
static char full[ORIGIN_BYTES];	/* the last from which a client was sent away */

void
origin_init(uint64_t each)
{
	most = each;
}

/* Returns an address of IPv4, or the network of 64 bits of one of IPv6, since a
 * home has all of that. A server listens on one of both. */
uint64_t
origin_of(const struct sockaddr *address)
{
	uint64_t origin = 0;

	if (address->sa_family == AF_INET6)
		memcpy(&origin, &((const struct sockaddr_in6 *)address)->sin6_addr,
		    sizeof origin);
	else
		memcpy(&origin, &((const struct sockaddr_in *)address)->sin_addr,
		    sizeof(struct in_addr));
	return origin;
}

/* Writes an origin as people do. */
static void
origin_text(const struct sockaddr *address, char *text)
{
	uint64_t origin = origin_of(address);
	unsigned char network[sizeof(struct in6_addr)] = { 0 };
	bool six = address->sa_family == AF_INET6;

	memcpy(network, &origin, sizeof origin);
	if (inet_ntop(six ? AF_INET6 : AF_INET, network, text,
	    INET6_ADDRSTRLEN) == NULL)
		(void)copy(text, ORIGIN_BYTES, "unknown", 7);
	else if (six)
		(void)copy(text + strlen(text), 4, "/64", 3);
}

/* Whether one more client may come; if not, text is its origin. */
bool
origin_admits(const struct sockaddr *address, char *text)
{
	uint64_t origin = origin_of(address), here = 0;
	uint32_t i, count = atomic_load(&shared->clients);

	if (most == 0)
		return true;
	for (i = 0; i < count; i++)
		here += clients[i].stage != STAGE_FREE &&
		    clients[i].origin == origin;
	if (here < most)
		return true;
	origin_text(address, full);
	(void)copy(text, ORIGIN_BYTES, full, strlen(full));
	sent_away++;
	origin_tick(false);
	return false;
}

/* Logs the first client sent away at once, and others together, once a minute. */
void
origin_tick(bool ending)
{
	uint64_t now = os_clock_ms();

	if (sent_away == 0 ||
	    (told_ms != 0 && now - told_ms < TELL_MS && !ending))
		return;
	complain("%s has %" PRIu64 " clients, as many as -c allows: %" PRIu64
	    " sent away", full, most, sent_away);
	told_ms = now;
	sent_away = 0;
}
