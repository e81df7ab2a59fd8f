/*
 * libFuzzer's way into the parsers: any bytes. No word may lie outside them.
 *
 *	clang -g -fsanitize=fuzzer,address,undefined fuzz/line.c line.c
 */
#include "../chat.h"

#include <stdlib.h>
#include <string.h>

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
inside(const struct word *w, const char *at, size_t len)
{
	if (w->at < at || w->at + w->len > at + len)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *at = malloc(len > 0 ? len : 1);	/* ASan sees where it ends */
	struct line line;
	struct said said;
	size_t i;

	if (at == NULL)
		return 0;
	memcpy(at, bytes, len);
	if (line_parse(at, len, &line)) {
		inside(&line.command, at, len);
		for (i = 0; i < line.count; i++) {
			inside(&line.words[i], at, len);
			(void)nick_valid(line.words[i].at, line.words[i].len);
			(void)room_valid(line.words[i].at, line.words[i].len);
		}
	}
	if (said_parse(at, len, &said)) {
		inside(&said.nick, at, len);
		inside(&said.command, at, len);
		inside(&said.target, at, len);
		inside(&said.text, at, len);
	}
	free(at);
	return 0;
}
