/*
 * transfer over lwIP's sequential API: a host of its own on a tap, or its
 * loopback alone. A thread for each client, whose calls block, as tapip has it; a
 * thread that reads frames and takes each through the stack; and lwIP's own, for
 * timers and the loopback. One lock guards the stack, and a thread that waits
 * does so in the kernel.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <lwip/api.h>
#include <lwip/netif.h>
#include <lwip/tcpip.h>

#include "tap.h"
#include "transfer.h"

enum {
	PERIOD = 251,		/* the byte at i is i mod 251 */
	KEEP = 64 << 20,	/* bytes that malloc keeps when they are free */
	BACKLOG = 255,		/* the most that lwIP has */
	STACK_BYTES = 131072,	/* a guess: lwIP's calls are not deep */
};

struct service {
	struct netconn	*listener;
	void		*(*serve)(void *);
};

static u8_t pattern[PERIOD + CHUNK];

_Atomic uint64_t received;

void
run(void *(*start)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if ((errno = pthread_create(&thread, &attr, start, arg)) != 0)
		err(1, "a thread");
	pthread_attr_destroy(&attr);
}

/* discard, RFC 863 */
void *
discard(void *client)
{
	struct pbuf *data;

	while (netconn_recv_tcp_pbuf(client, &data) == ERR_OK) {
		received += data->tot_len;
		pbuf_free(data);
	}
	netconn_delete(client);
	return NULL;
}

/* generate, in the manner of RFC 864 */
static void *
generate(void *client)
{
	size_t sent = 0;

	while (netconn_write(client, pattern + sent, CHUNK, NETCONN_NOCOPY) == ERR_OK)
		sent = (sent + CHUNK) % PERIOD;
	netconn_delete(client);
	return NULL;
}

static void *
accept_clients(void *arg)
{
	struct service *service = arg;
	struct netconn *client;
	err_t error;

	/* ERR_ABRT: a client has gone before it was accepted. */
	while ((error = netconn_accept(service->listener, &client)) == ERR_OK ||
	    error == ERR_ABRT)
		if (error == ERR_OK)
			run(service->serve, client);
	errx(1, "accepting: %d", error);
}

void
listen_on(uint16_t port, void *(*serve)(void *))
{
	struct service *service = malloc(sizeof *service);

	if (service == NULL)
		err(1, "a service");
	service->serve = serve;
	service->listener = netconn_new(NETCONN_TCP);
	if (service->listener == NULL ||
	    netconn_bind(service->listener, IP_ADDR_ANY, port) != ERR_OK ||
	    netconn_listen_with_backlog(service->listener, BACKLOG) != ERR_OK)
		errx(1, "listening on port %u", port);
	run(accept_clients, service);
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
	static struct netif netif;
	char *len = strchr(address, '/');
	ip4_addr_t own, mask, gateway;
	long bits;

	if (len == NULL)
		usage();
	*len++ = '\0';
	bits = number(len, 32);
	if (inet_pton(AF_INET, address, &own) != 1 ||
	    inet_pton(AF_INET, peer, &gateway) != 1)
		usage();
	mask.addr = lwip_htonl(0xffffffff << (32 - bits));
	tcpip_init(NULL, NULL);
	LOCK_TCPIP_CORE();
	netif_add(&netif, &own, &mask, &gateway, device, tap_init, tcpip_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	UNLOCK_TCPIP_CORE();
	listen_on(port, discard);
	listen_on((u16_t)(port + 1), generate);
	fputs("ready\n", stderr);
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
	if (strcmp(argv[1], "--loopback") == 0) {
		long clients = number(argv[2], 4096);
		long bytes = number(argv[3], 1L << 30);
		long rounds = number(argv[4], 1L << 40);

		tcpip_init(NULL, NULL);
		loopback(clients, bytes, rounds);
		return 0;
	}
	serve(argv[1], argv[2], argv[3], (u16_t)number(argv[4], 65534));
	return 0;
}
