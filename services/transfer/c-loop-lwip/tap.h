#include <lwip/netif.h>

/* For netif_add, with the name of a device that exists as the state. */
err_t	tap_init(struct netif *);
/* Hands up what has come, or waits for something, until lwIP's next timer. */
void	tap_serve(struct netif *);
