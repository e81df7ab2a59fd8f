/*
 * Transfers over lwIP's loopback: clients and server are connections of one
 * stack, in one loop.
 */
#include "transfer.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <lwip/netif.h>
#include <lwip/timeouts.h>

enum {
	TURNS = 50,	/* of a client in a round: as many as the paper's pings */
	PIECE = 48000,	/* bytes that are handed over at once: three segments */
	PORT = 9,
};

struct client {
	struct tcp_pcb	*pcb;	/* none before the first turn */
	long		 turns;	/* that are left of the round */
	long		 left;	/* bytes, of this turn */
	bool		 done;	/* with this turn */
};

static u8_t zeros[PIECE];

static void
lost(void *arg, err_t error)
{
	(void)arg;
	errx(1, "a connection was lost: %d", error);
}

/* Sends as much as there is room for, and then the end. */
static err_t
send_some(void *arg, struct tcp_pcb *pcb, u16_t len)
{
	struct client *client = arg;
	long n;

	(void)len;
	while ((n = LWIP_MIN(client->left, PIECE)) > 0) {
		n = LWIP_MIN(n, (long)tcp_sndbuf(pcb));
		if (n == 0 || tcp_write(pcb, zeros, (u16_t)n, 0) != ERR_OK)
			break;	/* the queue is full: closed later */
		client->left -= n;
	}
	if (client->left > 0)
		return tcp_output(pcb);
	tcp_sent(pcb, NULL);
	return tcp_shutdown(pcb, 0, 1);
}

static err_t
connected(void *arg, struct tcp_pcb *pcb, err_t error)
{
	(void)error;	/* is always none */
	return send_some(arg, pcb, 0);
}

static err_t
closed(void *arg, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	struct client *client = arg;

	(void)pcb;
	(void)error;
	if (data != NULL)
		errx(1, "the server sends");
	client->done = true;
	return ERR_OK;
}

/* Begins a client's next turn. */
static void
begin(struct client *client, long bytes)
{
	ip_addr_t home = IPADDR4_INIT_BYTES(127, 0, 0, 1);

	if (client->pcb != NULL) {
		tcp_err(client->pcb, NULL);
		/* It is in TIME-WAIT: no segment of loopback is late. */
		tcp_abort(client->pcb);
	}
	client->left = bytes;
	client->done = false;
	if ((client->pcb = tcp_new()) == NULL)
		errx(1, "no memory for a connection");
	tcp_arg(client->pcb, client);
	tcp_err(client->pcb, lost);
	tcp_recv(client->pcb, closed);
	tcp_sent(client->pcb, send_some);
	if (tcp_connect(client->pcb, &home, PORT, connected) != ERR_OK)
		errx(1, "connecting");
}

/* Begins the next turns of clients that are done; false if none has any left. */
static bool
go_on(struct client *crowd, long clients, long bytes)
{
	bool more = false;

	for (struct client *c = crowd; c < crowd + clients; c++) {
		if (c->done && c->turns > 0 && --c->turns > 0)
			begin(c, bytes);
		more |= c->turns > 0;
	}
	return more;
}

void
loopback(long clients, long bytes, long rounds)
{
	struct client *crowd = calloc((size_t)clients, sizeof *crowd);
	struct timespec start, end;

	if (crowd == NULL)
		err(1, "clients");
	listen_on(PORT, discard);
	while (rounds-- > 0) {
		received = 0;
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (long i = 0; i < clients; i++) {
			crowd[i].turns = TURNS;
			begin(&crowd[i], bytes);
		}
		do {
			netif_poll_all();
			sys_check_timeouts();
		} while (go_on(crowd, clients, bytes));
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("%llu %.9f\n", (unsigned long long)received,
		    (double)(end.tv_sec - start.tv_sec) +
		    (double)(end.tv_nsec - start.tv_nsec) / 1e9);
		fflush(stdout);
	}
	free(crowd);
}
