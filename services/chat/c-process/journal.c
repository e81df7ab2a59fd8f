/*
 * DATA/state: the tables as lines of text. Each change is appended as a line, and
 * now and then the file is written anew. main writes it, and waits for the disk
 * only when it is written anew. A RECV syncs it before it says PONG (log_sync).
 *
 *	B base			DATA/log begins at this offset
 *	N nick from		a nick that was here has had all for it before from
 *	M nick room from	a member has had all in the room before from
 *	J nick room offset	it joined at this offset
 *	C nick offset		the nick came at this offset
 *	R nick offset		it has received all before, since it joined or came
 *	A nick			it went, and an R may follow
 *	P nick room		it parted
 *	T room offset text	a topic, as the log has it
 */
#include "daemon.h"
#include "state.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RECORD_BYTES = 512,		/* the longest record is a topic's */
	BUFFER_BYTES = 1 << 16,
	REWRITE_BYTES = 1 << 20,	/* no file is too long below this */
	REWRITE_TIMES = 4,		/* or below so many times its shortest */
	RESERVE_BYTES = 1 << 18,	/* kept for a full disk: 5,000 records */
};

static int state_fd = -1;
static uint64_t state_bytes, short_bytes, reserved_bytes;
static uint64_t record_count;	/* shared->state_written, unless a write failed */
static int broken;		/* the errno of a write that failed */

static char *buffer;		/* of a rewrite */
static size_t buffered;

/* Reads an offset. One behind the log's end is of a damaged file, and is cut. */
static uint64_t
offset_of(const struct word *w)
{
	uint64_t value = 0, end = atomic_load(&shared->log_end);
	size_t i;

	for (i = 0; i < w->len && w->at[i] >= '0' && w->at[i] <= '9'; i++)
		value = value * 10 + (uint64_t)(w->at[i] - '0');
	return value < end ? value : end;
}

static void
load_member(char kind, const struct line *l, uint32_t person)
{
	const struct word *name = &l->words[1];
	uint32_t room, m;

	if (l->count < 2 || !room_valid(name->at, name->len))
		return;
	if (kind == 'P') {
		room = room_find(name->at, name->len);
		m = room == NOBODY ? NOBODY : member_find(person, room);
		if (m != NOBODY)
			member_remove(m);
		return;
	}
	if (l->count < 3 || (room = room_make(name->at, name->len)) == NOBODY ||
	    (m = member_make(person, room)) == NOBODY)
		return;
	if (kind == 'M')
		members[m].from = offset_of(&l->words[2]);
	else {
		members[m].present = true;
		members[m].unsure = false;
		members[m].joined = offset_of(&l->words[2]);
	}
}

static void
load_topic(const struct line *l)
{
	uint32_t room = room_find(l->words[0].at, l->words[0].len);

	if (room == NOBODY || l->count < 3)
		return;
	rooms[room].topic_at = offset_of(&l->words[1]);
	(void)copy(rooms[room].topic, sizeof rooms[room].topic,
	    l->words[2].at, l->words[2].len);
}

static void
load_record(const char *at, size_t len)
{
	const struct word *nick;
	struct line l;
	uint32_t person;

	if (!line_parse(at, len, &l) || l.command.len != 1 || l.count < 1)
		return;
	nick = &l.words[0];
	if (*l.command.at == 'T')
		load_topic(&l);
	if (!nick_valid(nick->at, nick->len) ||
	    (person = person_make(nick->at, nick->len)) == NOBODY)
		return;
	switch (*l.command.at) {
	case 'N':
		if (l.count > 1)
			persons[person].from = offset_of(&l.words[1]);
		break;
	case 'C':
		if (l.count > 1)
			person_come(person, offset_of(&l.words[1]));
		break;
	case 'R':
		if (l.count > 1)
			person_received(person, offset_of(&l.words[1]));
		break;
	case 'A':
		person_away(person);
		break;
	case 'M': case 'J': case 'P':
		load_member(*l.command.at, &l, person);
	}
}

/* Reads the first line, which says where the log begins, before all others. */
static uint64_t
base_of(const char *at, const char *end)
{
	uint64_t base = 0;

	for (; at != NULL && at < end; at = memchr(at, '\n', (size_t)(end - at)),
	    at = at != NULL ? at + 1 : NULL)
		if (end - at > 2 && at[0] == 'B')
			base = strtoull(at + 2, NULL, 10);
	return base;
}

static void
load_lines(const char *at, const char *end)
{
	const char *lf;
	uint32_t i;

	for (; (lf = memchr(at, '\n', (size_t)(end - at))) != NULL; at = lf + 1)
		load_record(at, (size_t)(lf - at));
	for (i = 0; i < person_count; i++) {
		person_away(i);
		person_come(i, 0);
		persons[i].last = atomic_load(&shared->log_end);
	}
	for (i = 0; i < room_count; i++)	/* not known: the log is looked at */
		atomic_store(&shared->last[i], atomic_load(&shared->log_end));
}

/* Reads DATA/state and opens the log: offsets make sense only with both. */
void
journal_load(void)
{
	int fd = open(paths.state, O_RDONLY | O_CLOEXEC);
	size_t size;
	struct stat st;
	char *text = NULL;

	if (fd == -1 && errno != ENOENT)
		err(1, "%s", paths.state);
	if (fd != -1 && fstat(fd, &st) == -1)
		err(1, "%s", paths.state);
	size = fd == -1 ? 0 : (size_t)st.st_size;
	if (size > 0) {
		text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text == MAP_FAILED)
			err(1, "%s", paths.state);
		while (size > 0 && text[size - 1] != '\n')
			size--;	/* cut off by a crash */
	}
	if (fd != -1)
		(void)close(fd);
	logfile_start(size > 0 ? base_of(text, text + size) : 0);
	if (size > 0)
		load_lines(text, text + size);
	if (text != NULL)
		(void)munmap(text, (size_t)st.st_size);
	buffer = os_table(BUFFER_BYTES);
	if ((errno = journal_rewrite()) != 0)
		err(1, "%s", paths.fresh);
}

static int
write_whole(int fd, const char *bytes, size_t len)
{
	ssize_t done;

	for (; len > 0; bytes += done, len -= (size_t)done) {
		done = write(fd, bytes, len);
		if (done == -1 && errno == EINTR)
			done = 0;
		else if (done == -1)
			return errno;
	}
	return 0;
}

/* Reserves blocks, so that records can be appended on a full disk. */
static void
reserve(void)
{
#ifdef __linux__
	if (state_bytes + RESERVE_BYTES / 2 > reserved_bytes &&
	    fallocate(state_fd, FALLOC_FL_KEEP_SIZE, (off_t)state_bytes,
	    RESERVE_BYTES) == 0)
		reserved_bytes = state_bytes + RESERVE_BYTES;
#endif
}

/* Appends a record. If that fails, the file is to be written anew. */
void
journal(const char *format, ...)
{
	char record[RECORD_BYTES];
	va_list args;
	int len, error;

	va_start(args, format);
	len = vsnprintf(record, sizeof record, format, args);
	va_end(args);
	record_count++;
	if (broken || len < 0 || (size_t)len >= sizeof record)
		return;
	error = write_whole(state_fd, record, (size_t)len);
	if (error != 0) {
		(void)ftruncate(state_fd, (off_t)state_bytes);
		complain("%s: %s", paths.state, strerror(error));
		broken = error;
		return;
	}
	state_bytes += (uint64_t)len;
	reserve();
	atomic_store(&shared->state_written, record_count);
}

uint64_t
journal_records(void)
{
	return record_count;
}

static int
put(int fd, const char *format, ...)
{
	va_list args;
	int len, error = 0;

	if (buffered + RECORD_BYTES > BUFFER_BYTES) {
		error = write_whole(fd, buffer, buffered);
		short_bytes += buffered;
		buffered = 0;
	}
	va_start(args, format);
	len = vsnprintf(buffer + buffered, RECORD_BYTES, format, args);
	va_end(args);
	if (len > 0 && len < RECORD_BYTES)
		buffered += (size_t)len;
	return error;
}

static int
put_person(int fd, const struct person *p)
{
	const struct member *m;
	uint32_t i;
	int error;

	error = put(fd, "N %s %" PRIu64 "\n", p->nick, p->from);
	if (p->client != NOBODY)
		error |= put(fd, "C %s %" PRIu64 "\n", p->nick, p->joined);
	for (i = p->members; i != NOBODY && error == 0;
	    i = m->next_of_person) {
		m = &members[i];
		error = put(fd, "M %s %s %" PRIu64 "\n", p->nick,
		    rooms[m->room].name, m->from);
		if (error == 0 && m->present)
			error = put(fd, "J %s %s %" PRIu64 "\n", p->nick,
			    rooms[m->room].name, m->joined);
	}
	return error;
}

static int
put_all(int fd)
{
	uint32_t i;
	int error;

	error = put(fd, "B %" PRIu64 "\n", atomic_load(&shared->log_base));
	for (i = 0; i < person_count && error == 0; i++)
		error = put_person(fd, &persons[i]);
	for (i = 0; i < room_count && error == 0; i++)
		if (rooms[i].name[0] != '\0' && rooms[i].topic[0] != '\0')
			error = put(fd, "T %s %" PRIu64 " :%s\n", rooms[i].name,
			    rooms[i].topic_at, rooms[i].topic);
	if (error == 0)
		error = write_whole(fd, buffer, buffered);
	short_bytes += buffered;
	buffered = 0;
	return error;
}

/* Writes the whole state beside the old one and puts it in its place. */
int
journal_rewrite(void)
{
	int fd = open(paths.fresh,
	    O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int error;

	if (fd == -1)
		return errno;
	short_bytes = buffered = 0;
	error = put_all(fd);
	if (error == 0 && fdatasync(fd) == -1)
		error = errno;
	if (error == 0 && rename(paths.fresh, paths.state) == -1)
		error = errno;
	if (error == 0)
		error = folder_sync();
	if (error != 0) {
		(void)close(fd);
		(void)unlink(paths.fresh);
		return error;
	}
	if (state_fd != -1)
		(void)close(state_fd);
	state_fd = fd;
	state_bytes = short_bytes;
	reserved_bytes = 0;
	broken = 0;
	reserve();
	atomic_store(&shared->state_written, record_count);
	atomic_store(&shared->state_synced, record_count);
	return 0;
}

/* Is called once a tick: writes the file anew if that is due. */
void
journal_tick(void)
{
	if (broken || (state_bytes > REWRITE_BYTES &&
	    state_bytes > short_bytes * REWRITE_TIMES))
		(void)journal_rewrite();
}
