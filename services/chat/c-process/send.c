/*
 * Child SEND: what its client is to see, in the order of the log. Messages it
 * reads from the log, everything else main and RECV tell it, each with the
 * offset of the log that it comes after. It never waits for its client alone.
 */
#include "chat.h"

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

/* What was said before in one room, or to the nick, and is caught up with. SEND
 * may have gone on in the log before it was told of the room: from live on it
 * wants what it would have wanted then. */
struct replay {
	uint64_t	at, live, to;
	uint32_t	number;			/* main counts them */
	char		room[ROOM_BYTES];	/* empty: the nick */
};

struct joined {
	uint32_t	number;
	size_t		len;
	char		name[ROOM_BYTES];
};

static struct joined joined[ROOMS_EACH];
static size_t joined_count;
static char nick[NICK_BYTES];
static size_t nick_len;
static uint32_t caps;
static struct replay replay;
static uint64_t pos;		/* the client is to get what comes after it */
static bool in, unread, gated, ending;
static bool cut;		/* by SEND itself */
static bool dismissed;		/* main has said END */
static uint64_t end_offset;

static char chunk[CHUNK_BYTES], out[OUT_BYTES];
static size_t out_len, out_done;
static _Alignas(struct message) char events[HELD_BYTES + sizeof(struct message)];
static size_t event_head, event_tail;

static uint64_t scan_at, scan_bytes;	/* how far behind it is, while blocked */
static bool blocked, unasked;
static uint64_t now, ask_ms, quiet_ms, deadline_ms;

static struct slot *
slot(void)
{
	return &board->slots[self.slot];
}

static void
put(const char *text, size_t len)
{
	memcpy(out + out_len, text, len);
	out_len += len;
}

static bool
room_for(size_t len)
{
	return out_len + len <= sizeof out;
}

static const struct joined *
find_room(const struct word *name)
{
	size_t i;

	for (i = 0; i < joined_count; i++)
		if (same(joined[i].name, joined[i].len, name->at, name->len))
			return &joined[i];
	return NULL;
}

enum want { WANT_NOT, WANT, WANT_SYNCED };

/* What its own client has said comes back only as an echo, from the disk. */
static enum want
wants_live(const struct said *said)
{
	bool mine = same(said->nick.at, said->nick.len, nick, nick_len);
	bool room = said->target.len > 0 && said->target.at[0] == '#';

	if (room && find_room(&said->target) == NULL)
		return WANT_NOT;
	if (room && is_word(&said->command, "TOPIC"))
		return WANT;
	if (mine && (caps & CAP_ECHO))
		return WANT_SYNCED;
	if (room)
		return mine ? WANT_NOT : WANT;
	return same(said->target.at, said->target.len, nick, nick_len) ?
	    WANT : WANT_NOT;
}

static enum want
wants_replay(const struct said *said)
{
	const char *target = replay.room[0] != '\0' ? replay.room : nick;

	if (!same(said->target.at, said->target.len, target, strlen(target)))
		return WANT_NOT;
	if (is_word(&said->command, "TOPIC"))
		return replay.at >= replay.live ? WANT : WANT_NOT;
	return replay.room[0] != '\0' &&
	    same(said->nick.at, said->nick.len, nick, nick_len) ?
	    WANT_NOT : WANT;
}

static void
put_said(const struct said *said)
{
	if (caps & CAP_TIME) {
		put("@time=", 6);
		put(said->time.at, said->time.len);
		put(" ", 1);
	}
	put(said->line, said->line_len);
	put("\r\n", 2);
	if (ask_ms == 0)
		ask_ms = now + ASK_MS;
}

/* Goes on in the log towards limit. False: not now. */
static bool
step(uint64_t *at, uint64_t limit, enum want (*wants)(const struct said *))
{
	const char *line = chunk, *lf;
	struct said said;
	enum want want;
	size_t len;

	if (log_read(at, limit, chunk, sizeof chunk, &len) != 0) {
		gated = true;	/* nobody tells when it can be read again */
		return false;
	}
	for (; line < chunk + len; line = lf + 1) {
		lf = memchr(line, '\n', (size_t)(chunk + len - line));
		want = said_parse(line, (size_t)(lf - line), &said) &&
		    said.line_len <= LINE_BYTES ? wants(&said) : WANT_NOT;
		if (want == WANT_SYNCED &&
		    atomic_load(&board->log_synced) <= *at) {
			gated = true;
			return false;
		}
		if (want != WANT_NOT && !room_for(OUT_LINE))
			return false;
		if (want != WANT_NOT)
			put_said(&said);
		*at += (uint64_t)(lf + 1 - line);
	}
	return true;
}

static void
start_replay(const struct message *m, const char *room, size_t len)
{
	(void)copy(replay.room, sizeof replay.room, room, len);
	replay.at = m->from;
	replay.live = m->offset;
	replay.to = pos > m->offset ? pos : m->offset;
	replay.number = m->number;
	/* What was answered before counts no more: see RECEIVED in main. */
	if (replay.at < replay.to || atomic_load(&slot()->asked) != 0)
		ask_ms = now + ASK_MS;
}

static void
join(const struct message *m)
{
	struct joined *j = &joined[joined_count];

	if (joined_count == ROOMS_EACH)
		return;
	j->number = m->value;
	j->len = copy(j->name, sizeof j->name, m->text, m->len);
	joined_count++;
	start_replay(m, j->name, j->len);
}

static void
part(uint32_t number)
{
	size_t i;

	for (i = 0; i < joined_count && joined[i].number != number; i++)
		continue;
	if (i < joined_count)
		joined[i] = joined[--joined_count];
}

/* The text of these begins with the nick. */
static void
take_nick(const struct message *m)
{
	const char *lf = memchr(m->text, '\n', m->len);
	size_t len = lf != NULL ? (size_t)(lf - m->text) : m->len;

	nick_len = copy(nick, sizeof nick, m->text, len);
	if (lf != NULL)
		put(lf + 1, m->len - len - 1);
	start_replay(m, "", 0);
}

/* Does what main or RECV wants. False: when there is more room. */
static bool
apply(const struct message *m)
{
	if (!room_for(m->len + OUT_LINE))
		return false;
	switch (m->type) {
	case M_REGISTER:
		in = true;
		pos = m->offset;
		take_nick(m);
		break;
	case M_NICK:
		take_nick(m);
		break;
	case M_JOIN:
		join(m);
		break;
	case M_PART:
		part(m->value);
		put(m->text, m->len);
		break;
	case M_CAPS:
		caps = m->value;
		break;
	case M_TEXT:
		put(m->text, m->len);
		break;
	case M_END:
		put(m->text, m->len);
		ending = dismissed = true;
		end_offset = m->offset;
		deadline_ms = now + m->value;
	}
	return true;
}

/* Makes text for the client. True: there may be more, when this is sent. */
static bool
fill(uint64_t limit)
{
	const struct message *m;
	uint64_t to;

	gated = false;
	while (!ending) {
		if (replay.at < replay.to) {
			if (!step(&replay.at, replay.to, wants_replay))
				break;
			continue;
		}
		m = event_head == event_tail ? NULL :
		    (const struct message *)(const void *)(events + event_head);
		if (m != NULL && (!in || m->offset <= pos)) {
			if (!apply(m))
				break;
			event_head += (MESSAGE_HEAD + m->len + 7) & ~(size_t)7;
			continue;
		}
		to = m != NULL ? m->offset : unread ? limit : pos;
		if (pos >= to) {
			unread = false;
			return false;
		}
		if (!step(&pos, to, wants_live))
			break;
	}
	return !ending && !gated && !room_for(OUT_LINE);
}

/* The rest of a line that has begun, then why, and nothing else. */
static void
cut_off(enum ended why, const char *text)
{
	size_t keep = out_done;

	while (keep > 0 && keep < out_len && out[keep - 1] != '\n')
		keep++;
	out_len = keep;
	atomic_store(&slot()->ended, why);
	if (room_for(OUT_LINE))
		out_len += (size_t)snprintf(out + out_len, OUT_LINE,
		    "ERROR :Closing link: %s\r\n", text);
	ending = cut = true;
	deadline_ms = now + (why == ENDED_SERVER ? STOP_MS : QUIT_MS);
}

/* Room for one more message after those that wait. */
static bool
make_room(void)
{
	if (event_head == event_tail || ending)
		event_head = event_tail = 0;
	if (event_tail + sizeof(struct message) > sizeof events) {
		memmove(events, events + event_head, event_tail - event_head);
		event_tail -= event_head;
		event_head = 0;
	}
	return event_tail + sizeof(struct message) <= sizeof events;
}

/* Takes what was sent to this process. True: the log has grown, look again. */
static bool
drain(void)
{
	struct message *m;

	for (;;) {
		if (!make_room()) {
			cut_off(ENDED_SLOW, "it does not read");
			continue;	/* nothing of that is wanted any more */
		}
		m = (struct message *)(void *)(events + event_tail);
		if (message_recv(FD_NEWS, m, false) != 0)
			return false;
		if (in && !unread && m->safe > pos)
			pos = m->safe;	/* nothing for us before that */
		if (m->type == M_KICK) {
			atomic_store(&slot()->kicked, 0);
			unread |= m->value == 0;
			return true;
		}
		if (ending)
			dismissed |= m->type == M_END;
		else
			event_tail += (MESSAGE_HEAD + m->len + 7) & ~(size_t)7;
	}
}

/* False: the client is gone. */
static bool
flush(void)
{
	ssize_t done;

	while (out_done < out_len) {
		done = send(FD_CLIENT, out + out_done, out_len - out_done,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done == -1 && errno == EINTR)
			continue;
		if (done == -1 && errno != EAGAIN && errno != ENOBUFS)
			return false;
		if (done == -1) {
			blocked = true;
			return true;
		}
		out_done += (size_t)done;
	}
	out_len = out_done = 0;
	blocked = false;
	return true;
}

static enum want
count_wanted(const struct said *said)
{
	if (wants_live(said) != WANT_NOT)
		scan_bytes += said->line_len;
	return WANT_NOT;
}

/* Nobody's memory holds what a slow client has not had of the log; but it is
 * not carried along for ever. */
static void
look_behind(uint64_t limit)
{
	if (!blocked || ending || !in)
		return;
	if (scan_at < pos) {
		scan_at = pos;
		scan_bytes = 0;
	}
	while (scan_at < limit && scan_bytes <= HELD_BYTES &&
	    step(&scan_at, limit, count_wanted))
		continue;
	if (scan_bytes + event_tail - event_head > HELD_BYTES)
		cut_off(ENDED_SLOW, "it does not read");
}

static void
ask(uint64_t offset)
{
	out_len += (size_t)snprintf(out + out_len, OUT_LINE, "PING :%" PRIu64
	    ".%" PRIu32 "\r\n", offset, replay.number);
	atomic_store(&slot()->asked, offset);
}

/* What is due by the clock. Returns when to look again, in ms, or -1. */
static int
look_at_clock(void)
{
	uint64_t heard = (uint64_t)atomic_load(&slot()->heard_s) * 1000;
	uint64_t next = heard + QUIET_S * 1000;
	bool whole = replay.at >= replay.to && event_head == event_tail;

	if (ending)
		next = deadline_ms;
	else if (!in && (next = self.register_by_ms) <= now)
		cut_off(ENDED_STRANGER, "no registration in time");
	else if (in && next <= now && quiet_ms <= heard) {
		quiet_ms = now;	/* for one that takes nothing, too */
		unasked = true;
	}
	if (!ending && unasked && room_for(OUT_LINE)) {
		ask(whole ? pos : 0);
		unasked = false;
	}
	if (!ending && in && quiet_ms > heard &&
	    (next = quiet_ms + ANSWER_S * 1000) <= now)
		cut_off(ENDED_SILENT, "no answer to a PING");
	if (!ending && ask_ms != 0 && ask_ms <= now && whole &&
	    room_for(OUT_LINE)) {
		ask(pos);
		ask_ms = 0;
	}
	if (!ending && ask_ms != 0 && ask_ms < next)
		next = ask_ms > now ? ask_ms : now + 10;
	if (gated && next > now + STALL_MS)
		next = now + STALL_MS;
	if (out_len > out_done && !blocked)
		return 0;
	return next > now ? (int)(next - now) : 1;
}

/* RECV reads the end and tells main, which says END to a client that SEND has
 * cut off as to one that quits. */
static void
wait_for_dismissal(void)
{
	static struct message m;
	struct pollfd p = { FD_NEWS, POLLIN, 0 };
	uint64_t until = now + QUIT_MS;
	int error = EAGAIN;

	(void)shutdown(FD_CLIENT, SHUT_RD);
	while (!dismissed && now < until && (error == 0 || error == EAGAIN)) {
		(void)poll(&p, 1, (int)(until - now));
		now = os_clock_ms();
		error = message_recv(FD_NEWS, &m, false);
		dismissed = error == 0 && m.type == M_END;
	}
}

/* All is sent, or it takes too long. Main hears of it before the client does:
 * who comes back at once finds his nick free. */
static _Noreturn void
finish(bool sent)
{
	static struct message done;
	bool orphan = atomic_load(&slot()->ended) == ENDED_SERVER;

	if (cut && !orphan)
		wait_for_dismissal();
	done.type = M_DONE;
	done.value = sent && !cut;
	done.offset = end_offset;
	if (dismissed)
		(void)message_send(FD_NEWS, &done, false);
	(void)shutdown(FD_CLIENT, dismissed && !cut ? SHUT_WR : SHUT_RDWR);
	if (orphan) {	/* a RECV that was stopped would stay for ever */
		(void)poll(NULL, 0, GONE_MS);
		if (getppid() == self.parent)
			(void)kill(self.parent, SIGKILL);
	}
	_exit(0);
}

/* Waits for news, room, or a time. */
static void
rest(int wait_ms)
{
	struct pollfd p[] = {
		{ FD_NEWS, POLLIN, 0 },
		{ FD_ALIVE, POLLIN, 0 },
		{ FD_CLIENT, POLLOUT, 0 },
	};
	bool orphan = atomic_load(&slot()->ended) == ENDED_SERVER;

	if (orphan)
		p[0].fd = p[1].fd = -1;
	(void)poll(p, blocked ? 3 : 2, wait_ms);
	now = os_clock_ms();
	if (p[1].fd != -1 && p[1].revents != 0 && !ending)
		cut_off(ENDED_SERVER, "the server is gone");
}

_Noreturn void
send_main(void)
{
	uint64_t limit;
	bool more;

	now = os_clock_ms();
	for (;;) {
		limit = atomic_load(&board->log_end);
		if (drain())
			continue;	/* what is read next is newer than this */
		more = fill(limit);
		if (!flush()) {
			atomic_store(&slot()->ended, ENDED_BROKEN);
			finish(false);
		}
		look_behind(limit);
		if (ending && (out_len == 0 || now >= deadline_ms))
			finish(out_len == 0);
		if (!more || blocked)
			rest(look_at_clock());
	}
}
