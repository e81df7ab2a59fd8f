/*
 * http: requests and answers of a stream as bytes. No socket and no clock in
 * here. Each of our servers in C has this file and http.c, and a test holds that
 * they are the same.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum {
	HEAD_BYTES = 8192,	/* the longest head; the contract asks for 4 KiB */
	ID_BYTES = 64,		/* by the contract */
	SAID_BYTES = 384,	/* more than a function below ever writes */
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
