/*
 * The options of lwIP for a host with enough memory: its defaults are for
 * kilobytes. One thread, the raw API, no sockets and no TCP.
 */
#define NO_SYS			1
#define SYS_LIGHTWEIGHT_PROT	0
#define LWIP_SOCKET		0
#define LWIP_NETCONN		0
#define LWIP_TCP		0
#define LWIP_UDP		0
#define LWIP_RAW		0
#define LWIP_NOASSERT		1
#define LWIP_STATS		0

/* Memory that grows with pingers is malloc's: lwIP's pools have fixed sizes. */
#define MEM_LIBC_MALLOC		1
#define MEMP_MEM_MALLOC		1
#define MEM_ALIGNMENT		8

/* The largest echo has 45 fragments: room for those of 32 pingers at once. */
#define IP_REASS_MAX_PBUFS	1440
#define MEMP_NUM_REASSDATA	32
