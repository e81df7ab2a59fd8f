/*
 * client: a connection, from accept on: what it says is cut into lines, and
 * these are obeyed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chat.h"

enum {
	READ_BYTES = 16384,	/* a guess: of one client in a turn */
	HELD_BYTES = READ_BYTES + TAGS_BYTES + LINE_BYTES,
	ACCEPTS = 256,		/* a guess: in a turn */
	REGISTER_MS = 30000,
	SILENT_MS = 90000,	/* then it is asked */
	DEAD_MS = 120000,
	STUCK_MS = 5000,	/* a guess: not reading what it asked for */
};

struct client *clients;
uint32_t client_count, tagged_count;

static void
add_client(int loop, int fd, const struct sockaddr *addr)
{
	struct client *c = calloc(1, sizeof *c);
	struct epoll_event event = { .data.ptr = c,
	    .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };

	if (c == NULL || epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == -1) {
		free(c);
		close(fd);	/* no memory: drop it, keep serving */
		return;
	}
	c->fd = fd;
	c->heard = now_ms;
	*c->host = '0';		/* before what begins with a colon */
	if (addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6,
		    &((const struct sockaddr_in6 *)addr)->sin6_addr,
		    c->host + 1, sizeof c->host - 1);
	else
		inet_ntop(AF_INET,
		    &((const struct sockaddr_in *)addr)->sin_addr,
		    c->host + 1, sizeof c->host - 1);
	if (c->host[1] != ':')
		memmove(c->host, c->host + 1, strlen(c->host));
	c->next = clients;
	if (clients != NULL)
		clients->prev = c;
	clients = c;
	client_count++;
}

/* Accepts who waits; says whether there are others. */
enum waiting
welcome(int loop, int listener)
{
	union {
		struct sockaddr		any;
		struct sockaddr_in6	six;
	} addr;
	socklen_t len;
	int fd;

	for (int i = 0; i < ACCEPTS; i++) {
		len = sizeof addr;
		fd = accept4(listener, &addr.any, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd != -1)
			add_client(loop, fd, &addr.any);
		else if (errno == EAGAIN)
			return NOBODY;
		else if (errno != EINTR && errno != ECONNABORTED)
			return NO_ROOM;
	}
	return SOMEBODY;
}

/* One line, without its end; false if it has to wait. */
static bool
obey_line(struct client *c, char *line, size_t len)
{
	const struct command *command;
	char *name, *rest, saved;

	if (memchr(line, '\0', len) != NULL) {
		doom(c, "NUL in a line", CUT);
		return true;
	}
	if (too_long(line, len)) {
		reply(c, ":chat 417 %s :The line is too long", name_of(c));
		return true;
	}
	if (len > 0 && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	/* One elsewhere would end a line for some who read it: it is a blank. */
	for (char *cr = line; (cr = strchr(cr, '\r')) != NULL;)
		*cr = ' ';
	name = command_of(line);
	if (*name == '\0')
		return true;
	rest = name + strcspn(name, " ");
	saved = *rest;
	*rest = '\0';
	command = command_find(name);
	if (command_waits(command, c)) {
		*rest = saved;
		return false;
	}
	command_do(command, c, name, saved != '\0' ? rest + 1 : rest);
	return true;
}

/*
 * Obeys whole lines; returns how many bytes are done with. A client that must
 * wait for its acknowledgements, or does not read, is not obeyed any further.
 */
static size_t
obey_lines(struct client *c, char *bytes, size_t len)
{
	char *line = bytes, *end = bytes + len, *lf, kept;

	while (c->end_as == STAYS &&
	    (lf = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		if (c->late.len > EASE_BYTES || !join_rest(c)) {
			c->waiting = true;
			return (size_t)(line - bytes);
		}
		kept = lf > line ? lf[-1] : '\0';
		if (!c->skipping && !obey_line(c, line, (size_t)(lf - line))) {
			*lf = '\n';
			if (lf > line)
				lf[-1] = kept;	/* the carriage return */
			c->waiting = true;
			return (size_t)(line - bytes);
		}
		c->skipping = false;
		if (c->nick != NULL)
			c->heard = now_ms;
		c->prodded = false;
		line = lf + 1;
	}
	if (c->skipping)
		return len;
	if (c->end_as == STAYS && too_long(line, (size_t)(end - line))) {
		c->skipping = true;
		reply(c, ":chat 417 %s :The line is too long", name_of(c));
		return len;
	}
	return (size_t)(line - bytes);
}

/* The stream has ended: in order, unless a reset came after. */
static void
end_of_stream(struct client *c)
{
	socklen_t len = sizeof(int);
	int error = 0;

	c->eof = true;
	c->readable = false;
	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error != 0 || c->reset)
		doom(c, "Connection reset", BROKEN);
	else {
		c->hung_up = true;
		doom(c, "Connection closed", LEFT);
	}
}

/* A step of a client: obeys what is there, then what it sends now. */
void
obey(struct client *c)
{
	static char bytes[HELD_BYTES * 2];
	size_t len = c->carry.len, done;
	ssize_t more;

	c->waiting = !join_rest(c);
	if (len > 0)
		memcpy(bytes, c->carry.bytes + c->carry.start, len);
	done = c->waiting ? 0 : obey_lines(c, bytes, len);
	if (c->end_as == STAYS && !c->waiting && c->readable) {
		more = read(c->fd, bytes + len, READ_BYTES);
		if (more > 0) {
			len += (size_t)more;
			if (more < READ_BYTES && !c->eof)
				c->readable = false;
			done += obey_lines(c, bytes + done, len - done);
		} else if (more == 0)
			end_of_stream(c);
		else if (errno == EAGAIN)
			c->readable = false;
		else if (errno != EINTR)
			doom(c, strerror(errno), BROKEN);
	}
	buffer_drop(&c->carry, c->carry.len);
	if (c->end_as == STAYS && done < len &&
	    !buffer_add(&c->carry, bytes + done, len - done))
		doom(c, "no memory", CUT);
	if (c->end_as == STAYS && !c->waiting && c->readable)
		run_again(c);
}

void
ready(struct client *c, uint32_t events)
{
	if (events & EPOLLOUT && c->full) {
		c->full = false;
		mark_dirty(c);
	}
	if (events & EPOLLERR)
		c->reset = true;
	if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)))
		return;
	c->readable = true;
	if (events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP))
		c->eof = true;	/* to be read up to it */
	if (c->deaf)
		drain(c);
	else if (!c->waiting && !c->again)
		obey(c);
}

/* Once a second: those who do not register, and those who are silent. */
void
sweep(void)
{
	for (struct client *c = clients; c != NULL; c = c->next) {
		int64_t silent = now_ms - c->heard;

		if (c->end_as != STAYS)
			continue;
		missed_go_on(c);
		if (c->waiting && c->behind != NULL)
			run_again(c);	/* a PING need not wait any longer */
		if (c->nick == NULL ? silent >= REGISTER_MS : silent >= DEAD_MS)
			doom(c, c->nick == NULL ? "Registration timed out" :
			    "Ping timeout", CUT);
		else if (c->late.len > EASE_BYTES && c->waiting &&
		    silent >= STUCK_MS)
			doom(c, "You do not read", CUT);
		else if (c->nick != NULL && silent >= SILENT_MS &&
		    !c->prodded) {
			struct text text = news("PING :0");

			queue(c, &text);
			c->prodded = true;
		}
	}
}
