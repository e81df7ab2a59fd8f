/*
 * http: the head of a request, strictly by RFC 9112 (a head that breaks its
 * rules is refused, never guessed at), and all that a server answers.
 */
#include "http.h"

#include <stdio.h>
#include <string.h>

/*
 * Returns the length of the head with its empty line, or 0 if that line has not
 * come. The bytes before `seen` were looked at by an earlier call.
 */
size_t
http_end(const char *bytes, size_t len, size_t seen)
{
	size_t i;

	for (i = seen; i < len; i++)
		if (bytes[i] == '\n' && (i == 0 || bytes[i - 1] == '\n' ||
		    (bytes[i - 1] == '\r' && (i == 1 || bytes[i - 2] == '\n'))))
			return i + 1;
	return 0;
}

static bool
letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Returns how many bytes at the start are a name: RFC 9110's token. */
static size_t
token(const char *at, size_t len)
{
	size_t n;

	for (n = 0; n < len; n++)
		if (!letter(at[n]) && (at[n] == '\0' || strchr("!#$%&'*+-.^_`|~", at[n]) == NULL))
			break;
	return n;
}

static bool
is(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(at, word, len) == 0;
}

/*
 * Returns the length of the line at `at` without its end, and moves `at` behind
 * it. The byte before `end` is a line feed, so there is a line.
 */
static size_t
line_at(const char **at, const char *end)
{
	const char *line = *at, *feed = memchr(line, '\n', (size_t)(end - line));

	*at = feed + 1;
	if (feed > line && feed[-1] == '\r')
		feed--;
	return (size_t)(feed - line);
}

/* Whether a field's value has no control but a tab (RFC 9110, 5.5). */
static bool
plain(const char *at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 127)
			return false;
	return true;
}

/* Finds the ID in a target; a query after it is skipped. */
static bool
find_id(const char *target, size_t len, struct request *request)
{
	const char *query = memchr(target, '?', len);
	size_t i, before = strlen("/test/");

	if (query != NULL)
		len = (size_t)(query - target);
	if (len <= before || len > before + ID_BYTES ||
	    memcmp(target, "/test/", before) != 0)
		return false;
	for (i = before; i < len; i++)
		if (!letter(target[i]) && target[i] != '-' && target[i] != '_')
			return false;
	request->id = target + before;
	request->len = len - before;
	return true;
}

/*
 * Reads the fields of a head up to its empty line. Returns 200 if each line is a
 * field and Host is there as often as it must be, else 400.
 */
static int
read_fields(const char *at, const char *end, bool host_needed)
{
	const char *line;
	size_t len, name;
	unsigned hosts = 0;

	for (;;) {
		line = at;
		if ((len = line_at(&at, end)) == 0)
			break;
		name = token(line, len);
		if (name == 0 || name == len || line[name] != ':' ||
		    !plain(line + name, len - name))
			return 400;
		if (name == 4 && (line[0] | 32) == 'h' && (line[1] | 32) == 'o' &&
		    (line[2] | 32) == 's' && (line[3] | 32) == 't')
			hosts++;
	}
	return hosts > 1 || (host_needed && hosts == 0) ? 400 : 200;
}

/* Reads a whole head. Returns 200 and fills request, or the status of a refusal. */
int
http_parse(const char *head, size_t len, struct request *request)
{
	const char *at = head, *end = head + len, *target, *version;
	size_t line = line_at(&at, end), method = token(head, line), path, rest;
	int status;

	if (method == 0 || method == line || head[method] != ' ')
		return 400;
	target = head + method + 1;
	rest = line - method - 1;
	for (path = 0; path < rest && target[path] > ' ' && target[path] < 127; path++)
		continue;
	if (path == 0 || path == rest || target[path] != ' ')
		return 400;
	version = target + path + 1;
	rest -= path + 1;
	if (rest != 8 || memcmp(version, "HTTP/", 5) != 0 ||
	    version[5] < '0' || version[5] > '9' || version[6] != '.' ||
	    version[7] < '0' || version[7] > '9')
		return 400;
	request->coded = is(version, rest, "HTTP/1.1");
	if (!request->coded && !is(version, rest, "HTTP/1.0"))
		return 505;
	if ((status = read_fields(at, end, request->coded)) != 200)
		return status;
	if (!find_id(target, path, request))
		return 404;
	request->bare = is(head, method, "HEAD");
	return request->bare || is(head, method, "GET") ? 200 : 405;
}

/* Writes the whole answer to a request that is refused; the connection ends after it. */
size_t
http_refuse(char *out, int status)
{
	const char *why = status == 404 ? "Not Found" : status == 405 ? "Method Not Allowed" :
	    status == 408 ? "Request Timeout" : status == 431 ? "Request Header Fields Too Large" :
	    status == 505 ? "HTTP Version Not Supported" : "Bad Request";

	return (size_t)snprintf(out, SAID_BYTES, "HTTP/1.1 %d %s\r\n%s"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
	    status, why, status == 405 ? "Allow: GET, HEAD\r\n" : "", strlen(why) + 1, why);
}

/* Writes a text: as a chunk if the answer is coded in chunks (RFC 9112, 7.1). */
static size_t
code(char *out, bool coded, const char *text, int len)
{
	if (coded)
		return (size_t)sprintf(out, "%x\r\n%s\r\n", (unsigned)len, text);
	memcpy(out, text, (size_t)len);
	return (size_t)len;
}

/* Writes the head of the answer and, unless the method was HEAD, the greeting. */
size_t
http_greet(char *out, const struct request *request)
{
	char text[128];
	size_t len;
	int said;

	len = (size_t)sprintf(out, "HTTP/1.1 200 OK\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n%s%s\r\n",
	    request->coded ? "Transfer-Encoding: chunked\r\n" : "",
	    request->bare || !request->coded ? "Connection: close\r\n" : "");
	if (request->bare)
		return len;
	said = snprintf(text, sizeof text, "Goconntest welcomes you! Your Id: /test/%.*s\n",
	    (int)request->len, request->id);
	return len + code(out + len, request->coded, text, said);
}

size_t
http_chunk(char *out, bool coded, unsigned number, const char *id, size_t len)
{
	char text[128];
	int said = snprintf(text, sizeof text, "Chunk %u for id /test/%.*s\n",
	    number, (int)len, id);

	return code(out, coded, text, said);
}
