/*
 * line: buffers, and what a line of the protocol is made of.
 */
#ifndef LINE_H
#define LINE_H

#include "chat.h"
#if LAYER < L_LINE
#error "line.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char	*bytes;
	size_t	 start, len, room;
};

struct words {
	int	 count;
	char	*word[WORDS];
};

bool	 buffer_add(struct buffer *, const char *, size_t);
void	 buffer_drop(struct buffer *, size_t);
char	*command_of(char *line);
void	 split(char *text, struct words *);
bool	 too_long(const char *line, size_t len);
bool	 nick_ok(const char *);
bool	 room_ok(const char *);
char	*next_of(char **list);

#endif
