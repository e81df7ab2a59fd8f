/*
 * ping: a client that was sent messages is asked whether it has them. What was
 * queued counts as received when it answers a PING that was queued behind it.
 */
#define LAYER L_PING
#include "ping.h"

#include "out.h"
#include "record.h"

enum {
	ASK_MS = 1500,		/* of the 2 s within which a client is asked */
};

struct list owed = { .which = OWED };

/* A client that was sent messages will be asked whether it has them. */
void
owe(struct client *c)
{
	if (list_has(&owed, &c->conn) || conn_deaf(&c->conn))
		return;
	c->alive.owed_ms = now_ms;
	list_append(&owed, &c->conn);
}

void
owe_nothing(struct client *c)
{
	list_remove(&owed, &c->conn);
}

static void
ask(struct client *c)
{
	struct member *behind = c->member.behind;
	struct text text;

	if (!alive_may_ask(&c->alive))
		return;
	text = text_news("PING :%u", ++c->alive.token);
	tell(&c->conn, &text);
	alive_ask(&c->alive, record.end, behind,
	    behind != NULL ? behind->sent : 0);
}

void
asks_due(void)
{
	struct client *c;

	while (owed.first != NULL &&
	    (c = client_of(owed.first))->alive.owed_ms + ASK_MS <= now_ms) {
		owe_nothing(c);
		ask(c);
	}
}

/* When the next is to be asked; 0: none. */
int64_t
asks_next(void)
{
	return owed.first != NULL ?
	    client_of(owed.first)->alive.owed_ms + ASK_MS : 0;
}

/* The client has received all that was queued before the answered PING. */
void
answered(struct client *c, const char *token)
{
	bool full = !alive_may_ask(&c->alive);
	struct ask ask_of;

	if (!alive_answer(&c->alive, token, &ask_of))
		return;
	for (struct member *m = &c->member.nick->inbox; m != NULL; m = m->next)
		if (m->live && m->live_at < ask_of.token)
			member_received(m, ask_of.end);
		else if (m == ask_of.behind)
			member_received(m, ask_of.sent);
	if (full)
		owe(c);		/* for what it was sent since */
}
