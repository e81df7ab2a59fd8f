/* What lwIP asks of the compiler and of the system it is built for. */
#include <stdlib.h>

#define LWIP_RAND()	((u32_t)random())
