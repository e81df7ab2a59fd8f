/*
 * ping, answered by lwIP on a tap: one loop reads a frame. The stack calls its
 * layers up and down again with the answer, in the memory of that frame. No
 * allocation outlives the frame; there is no switch and no queue.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <malloc.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/pbuf.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>

enum {
	BATCH = 64,		/* frames that are read before timers are looked at */
	PIECES = 64,		/* of a frame that is written */
	KEEP = 64 << 20,	/* bytes that malloc keeps when they are free */
};

static int tap;

u32_t
sys_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u32_t)now.tv_sec * 1000 + (u32_t)(now.tv_nsec / 1000000);
}

/* Reads a frame and hands it to the stack; false if there is none now. */
static bool
receive(struct netif *netif)
{
	struct pbuf *frame = pbuf_alloc(PBUF_RAW,
	    (u16_t)(netif->mtu + SIZEOF_ETH_HDR), PBUF_RAM);
	ssize_t n;

	if (frame == NULL)
		err(1, "a frame");
	do
		n = read(tap, frame->payload, frame->len);
	while (n == -1 && errno == EINTR);
	if (n == -1) {
		if (errno != EAGAIN)
			err(1, "reading");
		pbuf_free(frame);
		return false;
	}
	pbuf_realloc(frame, (u16_t)n);
	if (netif->input(frame, netif) != ERR_OK)
		pbuf_free(frame);
	return true;
}

static err_t
send_frame(struct netif *netif, struct pbuf *frame)
{
	struct iovec pieces[PIECES];
	int n = 0;
	ssize_t sent;

	(void)netif;
	for (struct pbuf *p = frame; p != NULL; p = p->next) {
		if (n == PIECES)
			return ERR_BUF;
		pieces[n++] = (struct iovec){ p->payload, p->len };
	}
	do
		sent = writev(tap, pieces, n);
	while (sent == -1 && errno == EINTR);
	/* A full queue drops the frame: a link may lose frames. */
	return sent == -1 ? ERR_BUF : ERR_OK;
}

/* Attaches to a device that exists; its name is the state. */
static err_t
tap_init(struct netif *netif)
{
	/* locally administered */
	static const u8_t address[ETH_HWADDR_LEN] = { 2, 0, 0, 0, 0, 2 };
	const char *name = netif->state;
	struct ifreq device = { 0 };
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	if (strlen(name) >= sizeof device.ifr_name)
		errx(1, "%s: not the name of a device", name);
	strcpy(device.ifr_name, name);
	if (ioctl(any, SIOCGIFMTU, &device) == -1)
		err(1, "%s", name);
	close(any);
	netif->mtu = (u16_t)device.ifr_mtu;
	device.ifr_flags = IFF_TAP | IFF_NO_PI;
	if ((tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) == -1)
		err(1, "/dev/net/tun");
	if (ioctl(tap, TUNSETIFF, &device) == -1)
		err(1, "%s: attaching", name);
	netif->name[0] = 't';
	netif->name[1] = 'p';
	netif->hwaddr_len = ETH_HWADDR_LEN;
	memcpy(netif->hwaddr, address, sizeof address);
	netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP |
	    NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
	netif->output = etharp_output;
	netif->linkoutput = send_frame;
	return ERR_OK;
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
	fputs("usage: ping DEVICE ADDRESS/LEN PEER\n", stderr);
	exit(2);
}

int
main(int argc, char *argv[])
{
	struct pollfd ready = { .events = POLLIN };
	ip4_addr_t own, mask, gateway;
	struct netif netif;
	char *len, *end;
	long bits;
	u32_t limit;
	int i;

	if (argc != 4 || (len = strchr(argv[2], '/')) == NULL)
		usage();
	*len++ = '\0';
	bits = strtol(len, &end, 10);
	if (*len == '\0' || *end != '\0' || bits < 1 || bits > 32 ||
	    inet_pton(AF_INET, argv[2], &own) != 1 ||
	    inet_pton(AF_INET, argv[3], &gateway) != 1)
		usage();
	mask.addr = lwip_htonl(0xffffffff << (32 - bits));
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	mallopt(M_TRIM_THRESHOLD, KEEP);
	lwip_init();
	netif_add(&netif, &own, &mask, &gateway, argv[1], tap_init,
	    ethernet_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	ready.fd = tap;
	fputs("ready\n", stderr);
	for (;;) {
		for (i = 0; i < BATCH && receive(&netif); i++)
			;
		sys_check_timeouts();
		limit = i < BATCH ? sys_timeouts_sleeptime() : 0;
		if (limit > INT_MAX)
			limit = INT_MAX;
		if (limit > 0 && poll(&ready, 1, (int)limit) == -1 &&
		    errno != EINTR)
			err(1, "poll");
	}
}
