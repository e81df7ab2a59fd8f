/*
 * The options of lwIP for a host with enough memory: its defaults are for
 * kilobytes. Threads, and lwIP's sequential API, whose calls block; all else is
 * as in c-loop-lwip.
 */
#define NO_SYS			0
#define SYS_LIGHTWEIGHT_PROT	1
#define LWIP_SOCKET		0	/* a table of 1024 around the same calls */
#define LWIP_NETCONN		1
#define LWIP_UDP		0
#define LWIP_NOASSERT		1
#define LWIP_STATS		0

/*
 * A thread that calls the stack, or has read a frame, runs it under the one
 * lock. lwIP's own thread runs timers and the loopback.
 */
#define LWIP_TCPIP_CORE_LOCKING	1
#define LWIP_TCPIP_CORE_LOCKING_INPUT 1

/* Memory that grows with clients is malloc's: lwIP's pools have fixed sizes. */
#define MEM_LIBC_MALLOC		1
#define MEMP_MEM_MALLOC		1
#define MEM_ALIGNMENT		8

/* In entries. A client's mailbox holds what has come and was not read. */
#define TCPIP_MBOX_SIZE		1024
#define DEFAULT_TCP_RECVMBOX_SIZE 128
#define DEFAULT_ACCEPTMBOX_SIZE	256
#define TCP_LISTEN_BACKLOG	1

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

/* The device computes TCP's checksums. The kernel checks those of input. */
#define CHECKSUM_GEN_TCP	0
#define CHECKSUM_CHECK_TCP	0
