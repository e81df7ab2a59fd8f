#include <lwip/tcp.h>

extern u64_t	received;	/* bytes of all clients so far */

err_t	discard(void *, struct tcp_pcb *, err_t);
void	listen_on(u16_t port, tcp_accept_fn);
void	loopback(long clients, long bytes, long rounds);
