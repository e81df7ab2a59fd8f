/*
 * Messages between processes, over pairs of SOCK_SEQPACKET: a message arrives
 * whole or not at all, several processes may write to one end, and each side
 * learns of the other's end.
 */
#include "chat.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns 0 or an errno: EAGAIN if it would wait and may not. */
int
message_send(int fd, struct message *m, bool wait)
{
	int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT);

	while (send(fd, m, MESSAGE_HEAD + m->len, flags) == -1) {
		if (wait && (errno == ENOBUFS || errno == EAGAIN))
			(void)poll(NULL, 0, 1);	/* the BSDs, when memory is short */
		else if (errno == ENOBUFS)
			return EAGAIN;
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

/* Returns 0, EPIPE at the end, or another errno. */
int
message_recv(int fd, struct message *m, bool wait)
{
	ssize_t len;

	while ((len = recv(fd, m, sizeof *m, wait ? 0 : MSG_DONTWAIT)) == -1)
		if (errno != EINTR)
			return errno;
	if (len < (ssize_t)MESSAGE_HEAD ||
	    (size_t)len != MESSAGE_HEAD + m->len)
		return EPIPE;
	return 0;
}

/* Appends to the text, unless that does not fit whole. Returns the length of what
 * was appended, or 0. */
size_t
message_text(struct message *m, const char *format, ...)
{
	size_t room = sizeof m->text - m->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(m->text + m->len, room, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room)
		return 0;
	m->len += (uint32_t)len;
	return (size_t)len;
}

/* Raises a word to a value; it never lowers one. */
void
shared_raise(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t known = atomic_load(word);

	while (known < value &&
	    !atomic_compare_exchange_weak(word, &known, value))
		continue;
}

/* Returns the offset before which main has told every SEND of all lines for it. A
 * RECV raises `said` before the log's end grows, and main raises `told` after it
 * has posted the news, so the end is read first. */
uint64_t
watermark(void)
{
	uint64_t safe = atomic_load(&shared->log_end), told;
	uint32_t i, count = atomic_load(&shared->clients);

	for (i = 0; i < count; i++) {
		const struct slot *s = &shared->slots[i];
		uint64_t said = atomic_load(&s->said);

		told = atomic_load(&s->told);
		if (told < said && told < safe)
			safe = told;
	}
	return safe;
}
