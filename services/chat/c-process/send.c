/*
 * Child SEND writes to its client, in the order of the log. It reads messages
 * from the log. All else comes from main and RECV, each line with the offset of
 * the log that it comes after. SEND never waits for its client alone.
 */
#include "hear.h"

#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 16384,	/* of the log at once: a guess */
	OUT_BYTES = 16384,
	OUT_LINE = 1024,	/* the longest line with its time is shorter */
	GONE_MS = 300,		/* for RECV to finish when main is gone */
};

/* Its position in the log. */
struct position {
	uint64_t	at;		/* the client has had all before it */
	bool		in;		/* the client is registered */
	bool		unread;		/* there is more of the log behind it */
	bool		gated;		/* but it cannot be read or sent yet */
	struct replay	replay;
};

/* How much of the log a client that takes nothing has not had. */
struct lag {
	uint64_t	at, bytes;	/* so many before `at` are for it */
};

struct clock {
	uint64_t	now;
	uint64_t	ask_ms;		/* when to ask what it has received; 0: not */
	uint64_t	quiet_ms;	/* when it was asked whether it is there */
	bool		unasked;	/* that PING has no room yet */
	uint64_t	deadline_ms;	/* of its end */
};

/* Text on its way to the client. */
struct output {
	size_t		len, done;
	bool		blocked;	/* the socket takes no more now */
	char		bytes[OUT_BYTES];
};

/* Messages of main and RECV that are not done yet. */
struct backlog {
	size_t		head, tail;
	_Alignas(struct message) char bytes[HELD_BYTES + sizeof(struct message)];
};

struct send {
	struct hearer	hearer;
	struct position	log;
	struct lag	lag;
	struct clock	clock;
	bool		cut;		/* by SEND itself */
	bool		dismissed;	/* main has said END */
	uint64_t	end_offset;	/* and after which offset */
	struct output	out;
	char		chunk[CHUNK_BYTES];	/* of the log */
	struct backlog	backlog;
};

static struct slot *
slot(void)
{
	return &shared->slots[self.slot];
}

/* Whether the connection ends, and nothing else is done. */
static bool
ends(const struct send *s)
{
	return s->cut || s->dismissed;
}

static void
put(struct output *out, const char *text, size_t len)
{
	memcpy(out->bytes + out->len, text, len);
	out->len += len;
}

static bool
room_for(const struct output *out, size_t len)
{
	return out->len + len <= sizeof out->bytes;
}

static enum want
wants_live(struct send *s, const struct said *said)
{
	return hear_live(&s->hearer, said);
}

static enum want
wants_replay(struct send *s, const struct said *said)
{
	return hear_replay(&s->hearer, &s->log.replay, said);
}

static void
put_said(struct send *s, const struct said *said)
{
	if (s->hearer.caps & CAP_TIME) {
		put(&s->out, "@time=", 6);
		put(&s->out, said->time.at, said->time.len);
		put(&s->out, " ", 1);
	}
	put(&s->out, said->line, said->line_len);
	put(&s->out, "\r\n", 2);
	if (s->clock.ask_ms == 0)
		s->clock.ask_ms = s->clock.now + ASK_MS;
}

/* Reads on in the log, up to limit. False: no more can be done now. */
static bool
step(struct send *s, uint64_t *at, uint64_t limit,
    enum want (*wants)(struct send *, const struct said *))
{
	const char *line = s->chunk, *lf;
	struct said said;
	enum want want;
	size_t len;

	if ((PUBLISHED ? log_read_shared : log_read)(at, limit, s->chunk,
	    sizeof s->chunk, &len) != 0) {
		s->log.gated = true;	/* no message comes when it can be read again */
		return false;
	}
	for (; line < s->chunk + len; line = lf + 1) {
		lf = memchr(line, '\n', (size_t)(s->chunk + len - line));
		want = said_parse(line, (size_t)(lf - line), &said) &&
		    said.line_len <= LINE_BYTES ? wants(s, &said) : WANT_NOT;
		if (want == WANT_SYNCED &&
		    atomic_load(&shared->log_synced) <= *at) {
			s->log.gated = true;
			return false;
		}
		if (want != WANT_NOT && !room_for(&s->out, OUT_LINE))
			return false;
		if (want != WANT_NOT)
			put_said(s, &said);
		*at += (uint64_t)(lf + 1 - line);
	}
	return true;
}

static void
start_replay(struct send *s, const struct message *m, const char *room,
    size_t len)
{
	struct replay *r = &s->log.replay;

	(void)copy(r->room, sizeof r->room, room, len);
	r->at = m->from;
	r->live = m->offset;
	r->to = s->log.at > m->offset ? s->log.at : m->offset;
	r->number = m->number;
	/* Earlier answers count no more: see RECEIVED in main. */
	if (r->at < r->to || atomic_load(&slot()->asked) != 0)
		s->clock.ask_ms = s->clock.now + ASK_MS;
}

/* The text of these begins with the nick. */
static void
take_nick(struct send *s, const struct message *m)
{
	struct hearer *h = &s->hearer;
	const char *lf = memchr(m->text, '\n', m->len);
	size_t len = lf != NULL ? (size_t)(lf - m->text) : m->len;

	h->nick_len = copy(h->nick, sizeof h->nick, m->text, len);
	if (lf != NULL)
		put(&s->out, lf + 1, m->len - len - 1);
	start_replay(s, m, "", 0);
}

/* Does what a message says. False: later, when there is more room. */
static bool
apply(struct send *s, const struct message *m)
{
	if (!room_for(&s->out, m->len + OUT_LINE))
		return false;
	switch (m->type) {
	case M_REGISTER:
		s->log.in = true;
		s->log.unread = PUBLISHED;	/* news may have come before */
		s->log.at = m->offset;
		take_nick(s, m);
		break;
	case M_NICK:
		take_nick(s, m);
		break;
	case M_JOIN:
		if (hear_join(&s->hearer, m->value, m->text, m->len))
			start_replay(s, m, m->text, m->len);
		break;
	case M_PART:
		hear_part(&s->hearer, m->value);
		put(&s->out, m->text, m->len);
		break;
	case M_CAPS:
		s->hearer.caps = m->value;
		break;
	case M_TEXT:
		put(&s->out, m->text, m->len);
		break;
	case M_END:
		put(&s->out, m->text, m->len);
		s->dismissed = true;
		s->end_offset = m->offset;
		s->clock.deadline_ms = s->clock.now + m->value;
	}
	return true;
}

/* The first message that is not done yet, or NULL. */
static const struct message *
backlog_first(const struct backlog *b)
{
	return b->head == b->tail ? NULL :
	    (const struct message *)(const void *)(b->bytes + b->head);
}

/* The bytes that it takes there. */
static size_t
message_size(const struct message *m)
{
	return (MESSAGE_HEAD + m->len + 7) & ~(size_t)7;
}

/* Makes text for the client. True: there may be more when this is sent. */
static bool
fill(struct send *s, uint64_t limit)
{
	struct position *log = &s->log;
	const struct message *m;
	uint64_t to;

	log->gated = false;
	while (!ends(s)) {
		if (log->replay.at < log->replay.to) {
			if (!step(s, &log->replay.at, log->replay.to,
			    wants_replay))
				break;
			continue;
		}
		m = backlog_first(&s->backlog);
		if (m != NULL && (!log->in || m->offset <= log->at)) {
			if (!apply(s, m))
				break;
			s->backlog.head += message_size(m);
			continue;
		}
		to = m != NULL ? m->offset : log->unread ? limit : log->at;
		if (log->at >= to) {
			log->unread = false;
			return false;
		}
		if (!step(s, &log->at, to, wants_live))
			break;
	}
	return !ends(s) && !log->gated && !room_for(&s->out, OUT_LINE);
}

/* Leaves the rest of a line that has begun, and an ERROR with the reason. */
static void
cut_off(struct send *s, enum ended why, const char *text)
{
	struct output *out = &s->out;
	size_t keep = out->done;

	while (keep > 0 && keep < out->len && out->bytes[keep - 1] != '\n')
		keep++;
	out->len = keep;
	atomic_store(&slot()->ended, why);
	if (room_for(out, OUT_LINE))
		out->len += (size_t)snprintf(out->bytes + out->len, OUT_LINE,
		    "ERROR :Closing link: %s\r\n", text);
	s->cut = true;
	s->clock.deadline_ms = s->clock.now +
	    (why == ENDED_SERVER ? STOP_MS : QUIT_MS);
}

/* Makes room for one more message; false if there is none. */
static bool
make_room(struct send *s)
{
	struct backlog *b = &s->backlog;

	if (b->head == b->tail || ends(s))
		b->head = b->tail = 0;
	if (b->tail + sizeof(struct message) > sizeof b->bytes) {
		memmove(b->bytes, b->bytes + b->head, b->tail - b->head);
		b->tail -= b->head;
		b->head = 0;
	}
	return b->tail + sizeof(struct message) <= sizeof b->bytes;
}

/* Takes what was sent to this process. True: the log has grown, look again. */
static bool
drain(struct send *s)
{
	struct position *log = &s->log;
	struct message *m;

	for (;;) {
		if (!make_room(s)) {
			cut_off(s, ENDED_SLOW, "it does not read");
			continue;	/* the backlog is dropped, which makes room */
		}
		m = (struct message *)(void *)(s->backlog.bytes +
		    s->backlog.tail);
		if (message_recv(FD_NEWS, m, false) != 0)
			return false;
		if (!PUBLISHED && log->in && !log->unread && m->safe > log->at)
			log->at = m->safe;	/* nothing before that is for us */
		if (m->type == M_KICK) {
			atomic_store(&slot()->kicked, 0);
			log->unread |= m->value == 0;
			return true;
		}
		if (ends(s))
			s->dismissed |= m->type == M_END;
		else
			s->backlog.tail += message_size(m);
	}
}

/* False: the client is gone. */
static bool
flush(struct output *out)
{
	ssize_t done;

	while (out->done < out->len) {
		done = send(FD_CLIENT, out->bytes + out->done,
		    out->len - out->done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done == -1 && errno == EINTR)
			continue;
		if (done == -1 && errno != EAGAIN && errno != ENOBUFS)
			return false;
		if (done == -1) {
			out->blocked = true;
			return true;
		}
		out->done += (size_t)done;
	}
	out->len = out->done = 0;
	out->blocked = false;
	return true;
}

static enum want
count_wanted(struct send *s, const struct said *said)
{
	if (wants_live(s, said) != WANT_NOT)
		s->lag.bytes += said->line_len;
	return WANT_NOT;
}

/* The part of the log that a slow client has not been sent costs no memory. But
 * the client is cut off when that part is longer than its limit. */
static void
look_behind(struct send *s, uint64_t limit)
{
	struct lag *lag = &s->lag;

	if (!s->out.blocked || ends(s) || !s->log.in)
		return;
	if (lag->at < s->log.at) {
		lag->at = s->log.at;
		lag->bytes = 0;
	}
	while (lag->at < limit && lag->bytes <= HELD_BYTES &&
	    step(s, &lag->at, limit, count_wanted))
		continue;
	if (lag->bytes + s->backlog.tail - s->backlog.head > HELD_BYTES)
		cut_off(s, ENDED_SLOW, "it does not read");
}

static void
ask(struct send *s, uint64_t offset)
{
	s->out.len += (size_t)snprintf(s->out.bytes + s->out.len, OUT_LINE,
	    "PING :%" PRIu64 ".%" PRIu32 "\r\n", offset,
	    s->log.replay.number);
	atomic_store(&slot()->asked, offset);
}

/* Does what is due by the clock. Returns when to look again, in ms. */
static int
look_at_clock(struct send *s)
{
	struct clock *c = &s->clock;
	uint64_t heard = (uint64_t)atomic_load(&slot()->heard_s) * 1000;
	uint64_t now = c->now, next = heard + QUIET_S * 1000;
	bool whole = s->log.replay.at >= s->log.replay.to &&
	    backlog_first(&s->backlog) == NULL;

	if (ends(s))
		next = c->deadline_ms;
	else if (!s->log.in && (next = self.register_by_ms) <= now)
		cut_off(s, ENDED_STRANGER, "no registration in time");
	else if (s->log.in && next <= now && c->quiet_ms <= heard) {
		c->quiet_ms = now;	/* of a client that takes nothing, too */
		c->unasked = true;
	}
	if (!ends(s) && c->unasked && room_for(&s->out, OUT_LINE)) {
		ask(s, whole ? s->log.at : 0);
		c->unasked = false;
	}
	if (!ends(s) && s->log.in && c->quiet_ms > heard &&
	    (next = c->quiet_ms + ANSWER_S * 1000) <= now)
		cut_off(s, ENDED_SILENT, "no answer to a PING");
	if (!ends(s) && c->ask_ms != 0 && c->ask_ms <= now && whole &&
	    room_for(&s->out, OUT_LINE)) {
		ask(s, s->log.at);
		c->ask_ms = 0;
	}
	if (!ends(s) && c->ask_ms != 0 && c->ask_ms < next)
		next = c->ask_ms > now ? c->ask_ms : now + 10;
	if (s->log.gated && next > now + STALL_MS)
		next = now + STALL_MS;
	if (s->out.len > s->out.done && !s->out.blocked)
		return 0;
	return next > now ? (int)(next - now) : 1;
}

/* RECV reads the end of the stream and tells main. Main says END for a client
 * that SEND has cut off, as for one that quits. */
static void
wait_for_dismissal(struct send *s)
{
	static struct message m;
	struct pollfd p = { FD_NEWS, POLLIN, 0 };
	uint64_t now = s->clock.now, until = now + QUIT_MS;
	int error = EAGAIN;

	(void)shutdown(FD_CLIENT, SHUT_RD);
	while (!s->dismissed && now < until &&
	    (error == 0 || error == EAGAIN)) {
		(void)poll(&p, 1, (int)(until - now));
		now = os_clock_ms();
		error = message_recv(FD_NEWS, &m, false);
		s->dismissed = error == 0 && m.type == M_END;
	}
}

/* All is sent, or it takes too long. Main hears of it before the client does, so
 * a client that comes back at once finds its nick free. */
static _Noreturn void
finish(struct send *s, bool sent)
{
	static struct message done;
	bool orphan = atomic_load(&slot()->ended) == ENDED_SERVER;

	if (s->cut && !orphan)
		wait_for_dismissal(s);
	done.type = M_DONE;
	done.value = sent && !s->cut;
	done.offset = s->end_offset;
	if (s->dismissed)
		(void)message_send(FD_NEWS, &done, false);
	(void)shutdown(FD_CLIENT,
	    s->dismissed && !s->cut ? SHUT_WR : SHUT_RDWR);
	if (orphan) {	/* a RECV that was stopped would stay for ever */
		(void)poll(NULL, 0, GONE_MS);
		if (getppid() == self.parent)
			(void)kill(self.parent, SIGKILL);
	}
	_exit(0);
}

/* Waits for news, room, or a time. */
static void
rest(struct send *s, int wait_ms)
{
	struct pollfd p[] = {
		{ FD_NEWS, POLLIN, 0 },
		{ FD_ALIVE, POLLIN, 0 },
		{ FD_CLIENT, POLLOUT, 0 },
	};
	bool orphan = atomic_load(&slot()->ended) == ENDED_SERVER;

	if (orphan)
		p[0].fd = p[1].fd = -1;
	(void)(PUBLISHED ? multicast_poll : poll)(p, s->out.blocked ? 3 : 2, wait_ms);
	s->clock.now = os_clock_ms();
	if (p[1].fd != -1 && p[1].revents != 0 && !ends(s))
		cut_off(s, ENDED_SERVER, "the server is gone");
}

_Noreturn void
send_main(void)
{
	static struct send state;	/* pages that are not written cost nothing */
	struct send *s = &state;
	uint64_t limit;
	bool more;

	s->clock.now = os_clock_ms();
	for (;;) {
		if (PUBLISHED && multicast_heard())
			s->log.unread |= s->log.in;
		limit = atomic_load(&shared->log_end);
		if (drain(s))
			continue;	/* what is read next is newer than this */
		more = fill(s, limit);
		if (!flush(&s->out)) {
			atomic_store(&slot()->ended, ENDED_BROKEN);
			finish(s, false);
		}
		look_behind(s, limit);
		if (ends(s) && (s->out.len == 0 ||
		    s->clock.now >= s->clock.deadline_ms))
			finish(s, s->out.len == 0);
		if (!more || s->out.blocked)
			rest(s, look_at_clock(s));
	}
}
