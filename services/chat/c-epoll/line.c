/*
 * line: what lines and names are made of, and buffers that hold them. Nothing
 * here knows of clients.
 */
#define LAYER L_LINE
#include "line.h"

#include <stdlib.h>
#include <string.h>

/* False without memory; the buffer is then as it was. */
bool
buffer_add(struct buffer *b, const char *bytes, size_t len)
{
	size_t room = b->room > 0 ? b->room : 64;
	char *larger;

	if (b->start > 0 && b->start + b->len + len > b->room) {
		memmove(b->bytes, b->bytes + b->start, b->len);
		b->start = 0;
	}
	while (room < b->start + b->len + len)
		room *= 2;
	if (room > b->room) {
		if ((larger = realloc(b->bytes, room)) == NULL)
			return false;
		b->bytes = larger;
		b->room = room;
	}
	memcpy(b->bytes + b->start + b->len, bytes, len);
	b->len += len;
	return true;
}

/* An empty buffer costs no memory: most clients are idle. */
void
buffer_drop(struct buffer *b, size_t len)
{
	b->start += len;
	b->len -= len;
	if (b->len == 0) {
		free(b->bytes);
		*b = (struct buffer){ 0 };
	}
}

static char *
skip_word(char *text)
{
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

/* Where the command stands: after the tags and the sender, if there are any. */
char *
command_of(char *line)
{
	line += strspn(line, " ");
	if (*line == '@')
		line = skip_word(line);
	if (*line == ':')
		line = skip_word(line);
	return line;
}

/* Cuts what follows a command into words; the last may begin with a colon. */
void
split(char *text, struct words *words)
{
	words->count = 0;
	for (;;) {
		text += strspn(text, " ");
		if (*text == '\0')
			return;
		if (*text == ':' || words->count == WORDS - 1) {
			words->word[words->count++] = text + (*text == ':');
			return;
		}
		words->word[words->count++] = text;
		text += strcspn(text, " ");
		if (*text != '\0')
			*text++ = '\0';
	}
}

/* Whether a line, or what there is of it, is too long; len has no line feed. */
bool
too_long(const char *line, size_t len)
{
	const char *blank;

	if (len > 0 && *line == '@') {
		blank = memchr(line, ' ', len < TAGS_BYTES ? len : TAGS_BYTES);
		if (blank == NULL)
			return len >= TAGS_BYTES;
		len -= (size_t)(blank + 1 - line);
	}
	return len >= LINE_BYTES;
}

static bool
letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c != '\0' && strchr("[]\\^_{|}`", c) != NULL);
}

bool
nick_ok(const char *nick)
{
	size_t len = strlen(nick);

	if (len == 0 || len > NICK_BYTES || !letter(*nick))
		return false;
	while (*++nick != '\0')
		if (!letter(*nick) && *nick != '-' &&
		    (*nick < '0' || *nick > '9'))
			return false;
	return true;
}

bool
room_ok(const char *room)
{
	size_t len = strlen(room);

	if (len < 2 || len > ROOM_BYTES || *room != '#')
		return false;
	for (; *room != '\0'; room++)
		if ((unsigned char)*room <= ' ' || *room == ',' ||
		    *room == ':' || *room == 127)
			return false;
	return true;
}

/* The next of a list with commas, or NULL; empty ones are passed over. */
char *
next_of(char **list)
{
	char *one = *list + strspn(*list, ",");

	*list = one + strcspn(one, ",");
	if (**list != '\0')
		*(*list)++ = '\0';
	return *one != '\0' ? one : NULL;
}
