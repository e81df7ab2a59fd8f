/*
 * A link of lwIP to a tap device of Linux that hands over TCP segments of up to
 * 64 KiB and computes checksums (IFF_VNET_HDR). lwIP cannot leave the
 * cutting of segments to a device, so each that it sends has one MSS at most.
 */
#include "tap.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <lwip/etharp.h>
#include <lwip/pbuf.h>
#include <lwip/prot/ethernet.h>
#include <lwip/prot/ip.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>

enum {
	PIECES = 64,	/* of a frame that is written */
};

/* Memory for the longest pbuf. Any thread may give it back. */
struct frame {
	struct pbuf_custom pbuf;	/* first: lwIP gives back its address */
	struct frame	*next;
	unsigned char	 bytes[65535];
};

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct frame *spare;
static int tap;

static struct frame *
take(void)
{
	struct frame *frame;

	pthread_mutex_lock(&spare_lock);
	if ((frame = spare) != NULL)
		spare = frame->next;
	pthread_mutex_unlock(&spare_lock);
	if (frame == NULL && (frame = malloc(sizeof *frame)) == NULL)
		err(1, "a frame");
	return frame;
}

static void
give_back(struct pbuf *pbuf)
{
	struct frame *frame = (struct frame *)pbuf;

	pthread_mutex_lock(&spare_lock);
	frame->next = spare;
	spare = frame;
	pthread_mutex_unlock(&spare_lock);
}

/* Waits for a frame and hands it to the stack. */
static void
receive(struct netif *netif)
{
	struct virtio_net_hdr header;
	struct frame *frame = take();
	struct iovec pieces[2] = {
		{ &header, sizeof header },
		{ frame->bytes, sizeof frame->bytes },
	};
	struct pbuf *pbuf;
	ssize_t n;

	do
		n = readv(tap, pieces, 2);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		err(1, "reading");
	if (n <= (ssize_t)sizeof header) {
		give_back((struct pbuf *)frame);
		return;
	}
	n -= (ssize_t)sizeof header;
	frame->pbuf.custom_free_function = give_back;
	pbuf = pbuf_alloced_custom(PBUF_RAW, (u16_t)n, PBUF_REF, &frame->pbuf,
	    frame->bytes, sizeof frame->bytes);
	if (netif->input(pbuf, netif) != ERR_OK)
		pbuf_free(pbuf);
}

void
tap_serve(struct netif *netif)
{
	for (;;)
		receive(netif);
}

/*
 * Leaves the checksum of a TCP segment to the device, from that of its
 * pseudo-header on (RFC 9293, 3.1).
 */
static void
offload(struct virtio_net_hdr *header, struct pbuf *frame)
{
	struct eth_hdr *ethernet = frame->payload;
	struct ip_hdr *ip = (void *)(ethernet + 1);
	struct tcp_hdr *tcp;
	size_t start = sizeof *ethernet;
	u32_t sum;

	if (frame->len < start + IP_HLEN ||
	    ethernet->type != PP_HTONS(ETHTYPE_IP) ||
	    IPH_PROTO(ip) != IP_PROTO_TCP)
		return;
	start += IPH_HL_BYTES(ip);
	if (frame->len < start + TCP_HLEN)
		return;
	tcp = (void *)((char *)frame->payload + start);
	sum = IP_PROTO_TCP + frame->tot_len - (u32_t)start;
	for (size_t i = 0; i < 4; i++)	/* both addresses */
		sum += lwip_ntohs(((u16_t *)&ip->src)[i]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	tcp->chksum = lwip_htons((u16_t)sum);
	header->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	header->csum_start = (u16_t)start;
	header->csum_offset = offsetof(struct tcp_hdr, chksum);
}

static err_t
send_frame(struct netif *netif, struct pbuf *frame)
{
	struct virtio_net_hdr header = { 0 };
	struct iovec pieces[PIECES] = { { &header, sizeof header } };
	struct pbuf *p = frame;
	int n = 1;
	ssize_t sent;

	(void)netif;
	do {
		if (n == PIECES)
			return ERR_BUF;
		pieces[n++] = (struct iovec){ p->payload, p->len };
	} while ((p = p->next) != NULL);
	offload(&header, frame);
	do
		sent = writev(tap, pieces, n);
	while (sent == -1 && errno == EINTR);
	/* A full queue drops the frame: a link may lose frames. */
	return sent == -1 ? ERR_BUF : ERR_OK;
}

err_t
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
	device.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
	if ((tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC)) == -1)
		err(1, "/dev/net/tun");
	if (ioctl(tap, TUNSETIFF, &device) == -1)
		err(1, "%s: attaching", name);
	if (ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) == -1)
		err(1, "%s: offloads", name);
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
