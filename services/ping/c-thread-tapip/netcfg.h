/*
 * Is found before tapip's own netcfg.h, in which these are constants. Here they
 * are variables that main sets.
 */
#ifndef NETCFG_H
#define NETCFG_H

extern unsigned int own_address, peer_address, mask; /* network order */

#define FAKE_IPADDR own_address
#define FAKE_NETMASK mask
#define FAKE_HWADDR "\x02\x00\x00\x00\x00\x02" /* locally administered */
#define FAKE_TAP_ADDR peer_address
#define FAKE_TAP_NETMASK mask

#endif
