/*
 * client: a connection with all that belongs to it, from accept to close.
 */
#define LAYER L_CLIENT
#include "client.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	ACCEPTS = 256,		/* a guess: in a turn */
};

struct list clients = { .which = ALL };

struct client *
client_of(struct conn *conn)
{
	return (struct client *)conn;
}

/* As replies address it. */
const char *
client_name(const struct client *c)
{
	if (c->member.nick != NULL)
		return c->member.nick->name.text;
	return c->login.wish != NULL ? c->login.wish : "*";
}

static void
client_make(int loop, int fd, const struct sockaddr *addr)
{
	struct client *c = calloc(1, sizeof *c);
	struct epoll_event event = { .data.ptr = c,
	    .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };

	if (c == NULL || epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == -1) {
		free(c);
		close(fd);	/* no memory: drop it, keep serving */
		return;
	}
	c->conn.fd = fd;
	c->conn.heard_ms = now_ms;
	login_from(&c->login, addr);
	list_push(&clients, &c->conn);
}

/* Accepts clients that wait; returns whether there are others. */
enum waiting
client_accept(int loop, int listener)
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
			client_make(loop, fd, &addr.any);
		else if (errno == EAGAIN)
			return NOBODY;
		else if (errno != EINTR && errno != ECONNABORTED)
			return NO_ROOM;
	}
	return SOMEBODY;
}

/* Closes a connection that is on no list but that of all clients. */
void
client_free(struct client *c)
{
	list_remove(&clients, &c->conn);
	conn_tag(&c->conn, false);
	buffer_drop(&c->conn.queue.late, c->conn.queue.late.len);
	close(c->conn.fd);
	login_free(&c->login);
	free(c->member.joins);
	free(c->conn.why);
	free(c);
}
