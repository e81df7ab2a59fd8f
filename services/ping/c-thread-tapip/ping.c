/*
 * ping, answered by tapip as it is: a thread waits for a frame, reads it into
 * memory allocated for it, and answers from there; two more threads keep the
 * clocks of ARP, fragments and TCP. This file has the functions by which tapip
 * sets up its device and the kernel's side of it (net/tap.c): here the device
 * exists already.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netif.h>
#include <arp.h>
#include <route.h>
#include <tap.h>

#include "netcfg.h"

void socket_init(void);
void tcp_timer(void);

/* tapip has these in its shell, which is not built. */
unsigned int net_debug;
pthread_t threads[4];

unsigned int own_address, peer_address, mask;

static struct ifreq device;
static int device_mtu, device_fd;

/* Attaches to a device that exists. */
static void
attach(const char *name)
{
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	if (strlen(name) >= sizeof device.ifr_name)
		errx(1, "%s: not the name of a device", name);
	strcpy(device.ifr_name, name);
	if (ioctl(any, SIOCGIFMTU, &device) == -1)
		err(1, "%s", name);
	close(any);
	device_mtu = device.ifr_mtu;
	device.ifr_flags = IFF_TAP | IFF_NO_PI;
	if ((device_fd = open(TUNTAPDEV, O_RDWR | O_CLOEXEC)) == -1)
		err(1, TUNTAPDEV);
	if (ioctl(device_fd, TUNSETIFF, &device) == -1)
		err(1, "%s: attaching", name);
}

int
alloc_tap(char *name)
{
	(void)name; /* tap0, always */
	return device_fd;
}

void
getname_tap(int fd, unsigned char *name)
{
	(void)fd;
	strcpy((char *)name, device.ifr_name);
}

void
getmtu_tap(unsigned char *name, int *mtu)
{
	(void)name;
	*mtu = device_mtu;
}

/* The address of the kernel's side, which tapip takes as its gateway. */
void
getipaddr_tap(unsigned char *name, unsigned int *address)
{
	(void)name;
	*address = peer_address;
}

void
gethwaddr_tap(int fd, unsigned char *address)
{
	(void)fd;
	(void)address; /* it is not used */
}

/* The device is set up already: the functions below do nothing. */
int
setpersist_tap(int fd)
{
	(void)fd;
	return 0;
}

void
setipaddr_tap(unsigned char *name, unsigned int address)
{
	(void)name;
	(void)address;
}

void
setnetmask_tap(unsigned char *name, unsigned int netmask)
{
	(void)name;
	(void)netmask;
}

void
setup_tap(unsigned char *name)
{
	(void)name;
}

void
delete_tap(int fd)
{
	close(fd);
}

void
set_tap(void)
{
}

void
unset_tap(void)
{
}

pthread_t
newthread(void *(*run)(void *))
{
	pthread_t thread;

	if ((errno = pthread_create(&thread, NULL, run, NULL)) != 0)
		err(1, "a thread");
	return thread;
}

/* tapip's threads have no argument and no result. */
static void *
timers(void *none)
{
	net_timer();
	return none;
}

static void *
tcp_timers(void *none)
{
	tcp_timer();
	return none;
}

static void *
stack(void *none)
{
	netdev_interrupt();
	return none;
}

static void
usage(void)
{
	fputs("usage: ping DEVICE ADDRESS/LEN PEER\n", stderr);
	exit(2);
}

int
main(int argc, char *argv[])
{
	char *len, *end;
	sigset_t ends;
	long bits;
	int sig;

	if (argc != 4 || (len = strchr(argv[2], '/')) == NULL)
		usage();
	*len++ = '\0';
	bits = strtol(len, &end, 10);
	if (*len == '\0' || *end != '\0' || bits < 1 || bits > 32 ||
	    inet_pton(AF_INET, argv[2], &own_address) != 1 ||
	    inet_pton(AF_INET, argv[3], &peer_address) != 1)
		usage();
	mask = htonl(0xffffffff << (32 - bits));
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	attach(argv[1]);
	netdev_init();
	arp_cache_init();
	rt_init();
	socket_init();
	threads[0] = newthread(timers);
	threads[1] = newthread(tcp_timers);
	threads[2] = newthread(stack);
	fputs("ready\n", stderr);
	sigwait(&ends, &sig);
	_exit(0);
}
