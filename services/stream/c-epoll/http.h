/*
 * What a stream says and hears, as bytes: no socket and no clock in here. The other servers in C use it too.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum {
	HEAD_BYTES = 8192,	/* the longest head that is read; the contract asks for 4 KiB */
	ID_BYTES = 64,		/* by the contract */
	SAID_BYTES = 384,	/* the longest that one of the functions below writes, and some room */
};

struct request {
	const char *id;		/* within the head */
	size_t	len;		/* of the ID */
	bool	coded;		/* in chunks: not for HTTP/1.0 */
	bool	bare;		/* HEAD: no body */
};

size_t	http_end(const char *, size_t, size_t);
int	http_parse(const char *, size_t, struct request *);
size_t	http_refuse(char *, int);
size_t	http_greet(char *, const struct request *);
size_t	http_chunk(char *, bool, unsigned, const char *, size_t);

#endif
