/*
 * Lines of clients and lines of the log, taken apart in place: nothing is
 * copied or kept, and no byte outside the given ones is read.
 */
#include "chat.h"

#include <string.h>
#include <time.h>

/* Copies as much as fits, adds a NUL, and returns the length without it. */
size_t
copy(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = '\0';
	return len;
}

static const char *
skip_blanks(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	return at;
}

static const char *
skip_word(const char *at, const char *end)
{
	const char *blank = memchr(at, ' ', (size_t)(end - at));

	return blank != NULL ? blank : end;
}

/* Takes a client's line apart, which has no end and no tags. False: it is empty. A
 * source of the client's own, ":ann PING", is skipped. */
bool
line_parse(const char *at, size_t len, struct line *line)
{
	const char *end = at + len, *next;

	line->count = 0;
	at = skip_blanks(at, end);
	if (at < end && *at == ':')
		at = skip_blanks(skip_word(at, end), end);
	if (at == end)
		return false;
	next = skip_word(at, end);
	line->command = (struct word){ at, (size_t)(next - at) };
	while ((at = skip_blanks(next, end)) < end && line->count < MAX_WORDS) {
		if (*at == ':') {
			at++;
			next = end;
		} else if (line->count == MAX_WORDS - 1)
			next = end;	/* RFC 2812: the fifteenth is the rest */
		else
			next = skip_word(at, end);
		line->words[line->count++] =
		    (struct word){ at, (size_t)(next - at) };
	}
	return true;
}

/* TIME :nick!user@host COMMAND target :text, without its LF. */
bool
said_parse(const char *at, size_t len, struct said *said)
{
	const char *end = at + len, *next;

	if (len < TIME_BYTES + 2 || at[TIME_BYTES] != ' ' ||
	    at[TIME_BYTES + 1] != ':')
		return false;
	said->time = (struct word){ at, TIME_BYTES };
	at += TIME_BYTES + 1;
	said->line = at++;
	said->line_len = (size_t)(end - said->line);
	next = memchr(at, '!', (size_t)(end - at));
	if (next == NULL)
		return false;
	said->nick = (struct word){ at, (size_t)(next - at) };
	at = skip_word(next, end);
	if (at == end)
		return false;
	next = skip_word(++at, end);
	said->command = (struct word){ at, (size_t)(next - at) };
	if (next == end)
		return false;
	at = next + 1;
	next = skip_word(at, end);
	said->target = (struct word){ at, (size_t)(next - at) };
	if (end - next < 2)
		return false;
	said->text = (struct word){ next + 2, (size_t)(end - next) - 2 };
	return true;
}

static bool
nick_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c != '\0' && strchr("[]\\^_{|}`", c) != NULL);
}

bool
nick_valid(const char *nick, size_t len)
{
	size_t i;

	if (len < 1 || len >= NICK_BYTES || !nick_letter(nick[0]))
		return false;
	for (i = 1; i < len; i++)
		if (!nick_letter(nick[i]) && nick[i] != '-' &&
		    (nick[i] < '0' || nick[i] > '9'))
			return false;
	return true;
}

bool
room_valid(const char *room, size_t len)
{
	size_t i;

	if (len < 2 || len >= ROOM_BYTES || room[0] != '#')
		return false;
	for (i = 1; i < len; i++)
		if ((unsigned char)room[i] <= ' ' || room[i] == ',' ||
		    room[i] == ':' || room[i] == 0x7f)
			return false;
	return true;
}

static void
digits(char *at, int count, unsigned value)
{
	while (count-- > 0) {
		at[count] = (char)('0' + value % 10);
		value /= 10;
	}
}

/* Writes TIME_BYTES without NUL. The date of a second is computed once. */
void
time_text(uint64_t ms, char *text)
{
	static char second[TIME_BYTES + 1] = "0000-00-00T00:00:00.000Z";
	static time_t known = -1;
	time_t now = (time_t)(ms / 1000);
	struct tm tm;

	if (now != known && gmtime_r(&now, &tm) != NULL) {
		digits(second, 4, (unsigned)tm.tm_year + 1900);
		digits(second + 5, 2, (unsigned)tm.tm_mon + 1);
		digits(second + 8, 2, (unsigned)tm.tm_mday);
		digits(second + 11, 2, (unsigned)tm.tm_hour);
		digits(second + 14, 2, (unsigned)tm.tm_min);
		digits(second + 17, 2, (unsigned)tm.tm_sec);
		known = now;
	}
	memcpy(text, second, TIME_BYTES);
	digits(text + 20, 3, (unsigned)(ms % 1000));
}
