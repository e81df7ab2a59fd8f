#include <lwip/netif.h>

/* For netif_add, with the name of a device that exists as the state. */
err_t	tap_init(struct netif *);
/* Hands one frame after the other to the stack. Does not return. */
void	tap_serve(struct netif *);
