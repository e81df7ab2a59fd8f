#include <stdatomic.h>
#include <stdint.h>

enum {
	CHUNK = 65536,	/* bytes that a thread writes at once */
};

extern _Atomic uint64_t received;	/* bytes of all clients so far */

void	*discard(void *);	/* serves the netconn that is its argument */
void	 listen_on(uint16_t port, void *(*serve)(void *));
void	 loopback(long clients, long bytes, long rounds);
void	 run(void *(*)(void *), void *);	/* in a thread that nobody waits for */
