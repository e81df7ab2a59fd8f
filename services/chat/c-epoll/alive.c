/*
 * alive: the PINGs that a client has not answered, oldest first.
 */
#define LAYER L_ALIVE
#include "alive.h"

#include <stdlib.h>
#include <string.h>

/* With as many unanswered as may be, the answer to these is awaited. */
bool
alive_may_ask(const struct alive *a)
{
	return a->asked < ASKS;
}

/* A PING is sent with the token a->token. */
void
alive_ask(struct alive *a, off_t end, struct member *behind, off_t sent)
{
	a->asks[a->asked++] = (struct ask){ a->token, end, behind, sent };
}

/*
 * The client answers a PING, and with it all before. False: it is not one of
 * ours.
 */
bool
alive_answer(struct alive *a, const char *token, struct ask *answered)
{
	unsigned long number = strtoul(token, NULL, 10);
	uint32_t i = 0;

	while (i < a->asked && a->asks[i].token != number)
		i++;
	if (i == a->asked)
		return false;
	*answered = a->asks[i];
	a->asked -= i + 1;
	memmove(a->asks, a->asks + i + 1, a->asked * sizeof *a->asks);
	return true;
}

/* No answer counts for this member any more; NULL: for none. */
void
alive_forget(struct alive *a, const struct member *m)
{
	for (uint32_t i = 0; i < a->asked; i++)
		if (m == NULL || a->asks[i].behind == m)
			a->asks[i].behind = NULL;
}
