/*
 * The options of lwIP for a host with enough memory: its defaults are for
 * kilobytes. One thread, the raw API, no sockets.
 */
#define NO_SYS			1
#define SYS_LIGHTWEIGHT_PROT	0
#define LWIP_SOCKET		0
#define LWIP_NETCONN		0
#define LWIP_UDP		0
#define LWIP_NOASSERT		1
#define LWIP_STATS		0

/* Memory that grows with clients is malloc's: lwIP's pools have fixed sizes. */
#define MEM_LIBC_MALLOC		1
#define MEMP_MEM_MALLOC		1
#define MEM_ALIGNMENT		8

/* The loopback of transfer --loopback. */
#define LWIP_HAVE_LOOPIF	1
#define LWIP_NETIF_LOOPBACK	1

/* In bytes. The MTU of a tap allows less; the loopback has none. */
#define TCP_MSS			16000
#define TCP_SNDLOWAT		1024	/* sockets', but checked */
#define LWIP_WND_SCALE		1
#define TCP_RCV_SCALE		4
#define TCP_WND			(512 * 1024)
#define TCP_SND_BUF		(512 * 1024)
#define TCP_SND_QUEUELEN	2048	/* pbufs, two a segment */
#define TCP_WND_UPDATE_THRESHOLD (TCP_WND / 4)
#define TCP_OVERSIZE		0	/* the bytes to be sent stand there already */
#define TCP_OOSEQ_MAX_PBUFS(pcb) 512
#define LWIP_TCP_SACK_OUT	1
/* No bound: each client that connects is served at once. */
#define TCP_LISTEN_BACKLOG	0

/* The device computes TCP's checksums. The kernel checks those of input. */
#define CHECKSUM_GEN_TCP	0
#define CHECKSUM_CHECK_TCP	0
