#include <lwip/netif.h>

/* For netif_add, with the name of a device that exists as the state. */
err_t	tap_init(struct netif *);
/* Hands frames to the stack, or waits for one until lwIP's next timer. */
void	tap_serve(struct netif *);
