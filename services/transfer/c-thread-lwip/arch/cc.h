/* The definitions that lwIP needs for a compiler and a system. */
#include <stdlib.h>

#define LWIP_RAND()	((u32_t)random())
