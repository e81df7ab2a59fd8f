/*
 * transfer over lwIP's raw API: a host of its own on a tap, or its loopback
 * alone. One loop; the stack calls back when bytes have come, when some were
 * acknowledged, and when a client is gone. A connection costs some hundred bytes
 * and no stack, but code is cut into steps, and lwIP looks for the connection of
 * each segment in a list.
 */
#include <arpa/inet.h>
#include <err.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <lwip/init.h>
#include <lwip/tcp.h>
#include <netif/ethernet.h>

#include "tap.h"
#include "transfer.h"

enum {
	PERIOD = 251,		/* the byte at i is i mod 251 */
	PIECE = 32768,		/* bytes that are handed to lwIP at once */
	KEEP = 64 << 20,	/* bytes that malloc keeps when they are free */
	RETRY = 1,		/* half seconds, when memory was short */
};

static u8_t pattern[PERIOD + PIECE];

u64_t received;

u32_t
sys_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u32_t)now.tv_sec * 1000 + (u32_t)(now.tv_nsec / 1000000);
}

static err_t
close_late(void *arg, struct tcp_pcb *client)
{
	(void)arg;
	return tcp_close(client) == ERR_OK ? ERR_OK : ERR_MEM;
}

static err_t
hang_up(struct tcp_pcb *client)
{
	tcp_sent(client, NULL);
	tcp_recv(client, NULL);
	tcp_poll(client, NULL, 0);
	if (tcp_close(client) != ERR_OK)
		tcp_poll(client, close_late, RETRY);
	return ERR_OK;
}

/* Takes bytes that have come. At their end it closes, after bytes to be sent. */
static err_t
take(void *arg, struct tcp_pcb *client, struct pbuf *data, err_t error)
{
	(void)arg;
	(void)error;
	if (data == NULL)
		return hang_up(client);
	received += data->tot_len;
	tcp_recved(client, data->tot_len);
	pbuf_free(data);
	return ERR_OK;
}

/* Sends as much as there is room for. arg: bytes sent so far, modulo the period. */
static err_t
give(void *arg, struct tcp_pcb *client, u16_t len)
{
	size_t sent = (size_t)arg;
	u16_t n;

	(void)len;
	while ((n = (u16_t)LWIP_MIN(tcp_sndbuf(client), PIECE)) > 0) {
		if (tcp_write(client, pattern + sent, n,
		    TCP_WRITE_FLAG_MORE) != ERR_OK)
			break;	/* its queue is full */
		sent = (sent + n) % PERIOD;
	}
	tcp_arg(client, (void *)sent);
	tcp_output(client);	/* a device that takes less is tried again */
	return ERR_OK;
}

static err_t
give_late(void *arg, struct tcp_pcb *client)
{
	return give(arg, client, 0);
}

/* discard, RFC 863 */
err_t
discard(void *arg, struct tcp_pcb *client, err_t error)
{
	(void)arg;
	if (error != ERR_OK)
		return error;
	tcp_recv(client, take);
	return ERR_OK;
}

/* generate, in the manner of RFC 864 */
static err_t
generate(void *arg, struct tcp_pcb *client, err_t error)
{
	(void)arg;
	if (error != ERR_OK)
		return error;
	tcp_nagle_disable(client);
	tcp_recv(client, take);
	tcp_sent(client, give);
	tcp_poll(client, give_late, RETRY);	/* if memory was short */
	return give(NULL, client, 0);
}

void
listen_on(u16_t port, tcp_accept_fn serve)
{
	struct tcp_pcb *any = tcp_new(), *listener = NULL;

	if (any != NULL && tcp_bind(any, IP_ANY_TYPE, port) == ERR_OK)
		listener = tcp_listen(any);
	if (listener == NULL)
		errx(1, "listening on port %u", port);
	tcp_accept(listener, serve);
}

static void
stop(int sig)
{
	(void)sig;
	_exit(0);
}

static void
usage(void)
{
	fputs("usage: transfer DEVICE ADDRESS/LEN PEER PORT | "
	    "transfer --loopback CLIENTS BYTES ROUNDS\n", stderr);
	exit(2);
}

/* Returns the number of a text, from 1 to most. */
static long
number(const char *text, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || n < 1 || n > most)
		usage();
	return n;
}

static void
serve(char *device, char *address, const char *peer, u16_t port)
{
	char *len = strchr(address, '/');
	ip4_addr_t own, mask, gateway;
	struct netif netif;
	long bits;

	if (len == NULL)
		usage();
	*len++ = '\0';
	bits = number(len, 32);
	if (inet_pton(AF_INET, address, &own) != 1 ||
	    inet_pton(AF_INET, peer, &gateway) != 1)
		usage();
	mask.addr = lwip_htonl(0xffffffff << (32 - bits));
	netif_add(&netif, &own, &mask, &gateway, device, tap_init,
	    ethernet_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	listen_on(port, discard);
	listen_on((u16_t)(port + 1), generate);
	fputs("ready\n", stderr);
	for (;;)
		tap_serve(&netif);
}

int
main(int argc, char *argv[])
{
	unsigned int seed = 0;

	if (argc != 5)
		usage();
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	if (getrandom(&seed, sizeof seed, 0) == -1)
		err(1, "getrandom");
	srandom(seed);
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (u8_t)(i % PERIOD);
	mallopt(M_TRIM_THRESHOLD, KEEP);
	lwip_init();
	if (strcmp(argv[1], "--loopback") == 0)
		loopback(number(argv[2], 4096), number(argv[3], 1L << 30),
		    number(argv[4], 1L << 40));
	else
		serve(argv[1], argv[2], argv[3], (u16_t)number(argv[4], 65534));
	return 0;
}
