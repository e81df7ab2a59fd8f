/*
 * Transfers over lwIP's loopback, as the paper had tapip make them: a thread for
 * each client and one for each connection of the server, and calls that block.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <lwip/api.h>
#include <lwip/tcp.h>
#include <lwip/tcpip.h>

#include "transfer.h"

enum {
	TURNS = 50,	/* of a client in a round: as many as the paper's pings */
	PORT = 9,
};

static unsigned char zeros[CHUNK];

/* Connects, sends bytes and their end, and waits for the server's. */
static void
transfer(long bytes)
{
	ip_addr_t home = IPADDR4_INIT_BYTES(127, 0, 0, 1);
	struct netconn *conn = netconn_new(NETCONN_TCP);
	struct tcp_pcb *pcb;
	struct pbuf *data;
	size_t n;
	err_t error;

	if (conn == NULL)
		errx(1, "no memory for a connection");
	if ((error = netconn_connect(conn, &home, PORT)) != ERR_OK)
		errx(1, "connecting: %d", error);
	for (size_t left = (size_t)bytes; left > 0; left -= n) {
		n = LWIP_MIN(left, CHUNK);
		error = netconn_write(conn, zeros, n, NETCONN_NOCOPY);
		if (error != ERR_OK)
			errx(1, "sending: %d", error);
	}
	if ((error = netconn_shutdown(conn, 0, 1)) != ERR_OK)
		errx(1, "shutting down: %d", error);
	if ((error = netconn_recv_tcp_pbuf(conn, &data)) != ERR_CLSD)
		errx(1, error == ERR_OK ? "the server sends" : "a connection was lost");
	pcb = conn->pcb.tcp;
	if ((error = netconn_delete(conn)) != ERR_OK)
		errx(1, "closing: %d", error);
	/* lwIP looks through all in TIME-WAIT: no segment of loopback is late. */
	LOCK_TCPIP_CORE();
	if (pcb->state == TIME_WAIT)
		tcp_abort(pcb);
	UNLOCK_TCPIP_CORE();
}

static void *
client(void *bytes)
{
	for (int turn = 0; turn < TURNS; turn++)
		transfer((long)(intptr_t)bytes);
	return NULL;
}

void
loopback(long clients, long bytes, long rounds)
{
	pthread_t *crowd = calloc((size_t)clients, sizeof *crowd);
	struct timespec start, end;

	if (crowd == NULL)
		err(1, "clients");
	listen_on(PORT, discard);
	while (rounds-- > 0) {
		received = 0;
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (long i = 0; i < clients; i++)
			if ((errno = pthread_create(&crowd[i], NULL, client,
			    (void *)(intptr_t)bytes)) != 0)
				err(1, "a client's thread");
		for (long i = 0; i < clients; i++)
			pthread_join(crowd[i], NULL);
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("%llu %.9f\n", (unsigned long long)received,
		    (double)(end.tv_sec - start.tv_sec) +
		    (double)(end.tv_nsec - start.tv_nsec) / 1e9);
		fflush(stdout);
	}
	free(crowd);
}
