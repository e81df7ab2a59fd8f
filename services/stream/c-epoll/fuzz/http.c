/*
 * libFuzzer's way into the parser: any bytes. An ID that the parser finds lies
 * within them and is one by the contract.
 *
 *	clang -g -fsanitize=fuzzer,address,undefined fuzz/http.c http.c
 */
#include "../http.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *at = malloc(len > 0 ? len : 1), out[SAID_BYTES];	/* ASan knows their ends */
	struct request request;
	size_t end, part;
	int status;

	if (at == NULL)
		return 0;
	memcpy(at, bytes, len);
	end = http_end(at, len, 0);
	for (part = 0; part < end; part++)	/* it is not whole any sooner */
		if (http_end(at, part, part / 2) != 0)
			abort();
	if (end > 0 && (status = http_parse(at, end, &request)) == 200) {
		if (request.id < at || request.id + request.len > at + end ||
		    request.len < 1 || request.len > ID_BYTES)
			abort();
		if (http_greet(out, &request) >= sizeof out ||
		    http_chunk(out, request.coded, UINT32_MAX, request.id,
		    request.len) >= sizeof out)
			abort();
	} else if (end > 0 && http_refuse(out, status) >= sizeof out)
		abort();
	free(at);
	return 0;
}
