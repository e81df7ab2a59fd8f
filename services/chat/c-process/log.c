/*
 * The log in the children. RECV appends under an exclusive lock, in one write.
 * SEND reads without a lock, up to the end in shared memory. One process syncs
 * for all that wait.
 */
#include "chat.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 100 };	/* a guess: so long a removed log is written to */

static int	log_fd = -1;		/* opened by this process */
static uint32_t	log_seen;		/* shared->log_files when it was opened */
static uint64_t	log_first, log_last;	/* offsets of the file that SEND reads */

/* Whether the file is DATA/log no more: rotated or removed. */
static bool
moved(struct stat *st)
{
	return log_seen != atomic_load(&shared->log_files) ||
	    fstat(log_fd, st) == -1 || st->st_nlink == 0;
}

static int
reopen(int flags)
{
	if (log_fd != -1)
		(void)close(log_fd);
	log_seen = atomic_load(&shared->log_files);
	log_fd = open(paths.log, flags | O_CLOEXEC);
	return log_fd == -1 ? errno : 0;
}

/* Asks main for a log to write to: main alone makes files. */
static int
find_log(void)
{
	struct message m = { .type = M_LOG };
	struct stat st;
	int error;

	if (log_fd != -1 && !moved(&st))
		return 0;
	if (log_seen != atomic_load(&shared->log_files) &&
	    reopen(O_RDWR | O_APPEND) == 0 && !moved(&st))
		return 0;
	if ((error = message_send(FD_MAIN, &m, true)) != 0 ||
	    (error = message_recv(FD_MAIN, &m, true)) != 0)
		return error;
	if (m.value != 0)
		return (int)m.value;
	return reopen(O_RDWR | O_APPEND);	/* it is checked with the lock held */
}

/* Publishes lines. Before others can see the lines, they can see their rooms, and
 * that they are not announced: main may answer another client in between. */
static void
publish(const struct about *about, uint64_t start, uint64_t end)
{
	struct slot *slot = &shared->slots[self.slot];
	uint32_t target;
	size_t i;

	for (i = 0; i < about->count; i++) {
		target = about->targets[i];
		if ((target & NEWS_PERSON) != 0)
			continue;
		shared_raise(&shared->last[target], end);
		if (about->topic)
			shared_raise(&shared->topic_at[target], start + 1);
	}
	if (atomic_load(&slot->told) >= atomic_load(&slot->said))
		atomic_store(&slot->told, start);
	atomic_store(&slot->said, end);
	atomic_store(&shared->log_end, end);
}

/* Publishes whole lines of a RECV that was killed before it could: main finds out
 * which clients hear them. */
static void
adopt(uint64_t start, uint64_t end)
{
	static struct message m;
	static const struct about nobody;

	publish(&nobody, start, end);
	m.type = M_NEWS;
	m.value = NEWS_ALL;
	m.from = start;
	m.offset = end;
	(void)message_send(FD_MAIN, &m, true);
}

/* Whether to look at the file: a process has died in a write, the file is another
 * one, or some time is over, since any program can remove or cut it. */
static bool
look_is_due(void)
{
	static uint64_t looked_ms;
	uint64_t now = os_clock_ms();

	if (now - looked_ms < LOOK_MS && atomic_load(&shared->log_writing) == 0 &&
	    log_seen == atomic_load(&shared->log_files))
		return false;
	looked_ms = now;
	return true;
}

/* With the lock held: repairs the log if its length is not shared->log_end. */
static int
compare(const struct stat *st)
{
	uint64_t base = atomic_load(&shared->log_base);
	uint64_t end = atomic_load(&shared->log_end), size = (uint64_t)st->st_size;
	int error;

	if (size == end - base)
		return 0;
	if ((error = logfile_repair(log_fd, &size)) != 0)
		return error;
	if (base + size > end)
		adopt(end, base + size);
	else
		atomic_store(&shared->log_end, base + size);
	return 0;
}

/* Takes the lock; the log then ends at shared->log_end. */
static int
lock_log(void)
{
	_Atomic uint32_t *word = &shared->slots[self.slot].recv_lock;
	struct stat st;
	int error, tries;

	for (tries = 0; tries < 3; tries++) {
		if ((log_fd == -1 || tries > 0) && (error = find_log()) != 0)
			return error;
		if ((error = logfile_lock(log_fd, LOCK_EX, word)) != 0)
			return error;
		if (maybe_orphan && getppid() != self.parent)
			_exit(1);	/* the folder may be another server's now */
		if (tries == 0 && !look_is_due())
			return 0;
		if (!moved(&st)) {
			if ((error = compare(&st)) != 0)
				(void)logfile_lock(log_fd, LOCK_UN, word);
			return error;
		}
		(void)logfile_lock(log_fd, LOCK_UN, word);
	}
	return ENOENT;
}

/* Returns the time of new lines. It does not fall when the clock is set back a
 * little. When it is set back by more, the time follows. */
static void
stamp(char *lines, size_t len)
{
	char time[TIME_BYTES], *at = lines;
	uint64_t last = atomic_load(&shared->log_ms), now = os_time_ms();

	if (now < last && last - now < SET_MS)
		now = last;
	atomic_store(&shared->log_ms, now);
	time_text(now, time);
	while (at != NULL && at < lines + len) {
		memcpy(at, time, TIME_BYTES);
		at = memchr(at, '\n', (size_t)(lines + len - at));
		at = at != NULL ? at + 1 : NULL;
	}
}

/* Appends whole lines in one write, after it has filled in their times. Returns 0
 * and the offsets around them, or an errno: then none of them is in the log. */
int
log_append(char *lines, size_t len, const struct about *about, uint64_t *start,
    uint64_t *end)
{
	size_t done = 0;
	ssize_t more;
	int error;

	if ((error = lock_log()) != 0)
		return error;
	stamp(lines, len);
	*start = atomic_load(&shared->log_end);
	*end = *start + len;
	atomic_store(&shared->log_writing, 1);
	while (done < len && error == 0) {
		more = write(log_fd, lines + done, len - done);
		if (more == -1 && errno != EINTR)
			error = errno;
		else if (more > 0)
			done += (size_t)more;
	}
	if (error == 0)
		publish(about, *start, *end);
	else if (ftruncate(log_fd,
	    (off_t)(*start - atomic_load(&shared->log_base))) == -1)
		done = 0;	/* the next writer tries again */
	if (error == 0 || done > 0)
		atomic_store(&shared->log_writing, 0);
	(void)logfile_lock(log_fd, LOCK_UN,
	    &shared->slots[self.slot].recv_lock);
	return error;
}

static int
sync_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), error;

	if (fd == -1)
		return errno;
	error = fdatasync(fd) == -1 ? errno : 0;
	(void)close(fd);
	return error;
}

/* Syncs the log. The file may change between the look at its end and the sync, but
 * a rotation syncs the file that it puts aside. */
static int
sync_log(void)
{
	uint64_t end;
	uint32_t files;
	struct stat st;

	do {
		files = atomic_load(&shared->log_files);
		if (files != log_seen && reopen(O_RDWR | O_APPEND) != 0)
			return errno;
		end = atomic_load(&shared->log_end);
	} while (files != atomic_load(&shared->log_files));
	if (fdatasync(log_fd) == -1)
		return errno;
	if (moved(&st)) {	/* later lines of it are lost */
		(void)find_log();
		return ENOENT;
	}
	shared_raise(&shared->log_synced, end);
	return 0;
}

static int
sync_state(void)
{
	uint64_t written = atomic_load(&shared->state_written);
	int error = sync_file(paths.state);

	if (error == 0)
		shared_raise(&shared->state_synced, written);
	return error;
}

static bool
synced(uint64_t offset, uint64_t records)
{
	return atomic_load(&shared->log_synced) >= offset &&
	    atomic_load(&shared->state_synced) >= records;
}

/* Returns when the log before offset and the first records of the state are on
 * the disk. The process that gets the lock syncs for all that came while it
 * waited: they find it done. */
int
log_sync(uint64_t offset, uint64_t records)
{
	static int lock_fd = -1;
	_Atomic uint32_t *word = &shared->slots[self.slot].recv_lock;
	int error = 0;

	if (synced(offset, records))
		return 0;
	if (lock_fd == -1)
		lock_fd = open(paths.sync, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock_fd == -1)
		return errno;
	if ((error = logfile_lock(lock_fd, LOCK_EX, word)) != 0)
		return error;
	if (atomic_load(&shared->log_synced) < offset)
		error = sync_log();
	if (error == 0 && atomic_load(&shared->state_synced) < records)
		error = sync_state();
	(void)logfile_lock(lock_fd, LOCK_UN, word);
	return error;
}

/* Opens the rotated file that holds offset, or the next one if it was removed. */
static int
open_aside(uint64_t *offset)
{
	DIR *dir = opendir(paths.folder);
	uint64_t base = atomic_load(&shared->log_base), at, best = base;
	uint64_t after = base;
	struct dirent *entry;
	struct stat st;
	char path[PATH_MAX + 32];

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (sscanf(entry->d_name, "log.%20" SCNu64, &at) != 1)
			continue;
		if (at <= *offset && (best == base || at > best))
			best = at;
		else if (at > *offset && at < after)
			after = at;
	}
	if (dir != NULL)
		(void)closedir(dir);
	if (log_fd != -1)
		(void)close(log_fd);
	(void)snprintf(path, sizeof path, "%s.%020" PRIu64, paths.log, best);
	log_fd = best == base ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	log_first = log_last = best;
	if (log_fd != -1 && fstat(log_fd, &st) == 0)
		log_last = best + (uint64_t)st.st_size;
	if (log_fd == -1 || *offset >= log_last) {
		*offset = after;
		return ENOENT;
	}
	return 0;
}

/* Finds the file that holds offset; moves offset on where there is none. */
static int
file_at(uint64_t *offset)
{
	uint32_t files = atomic_load(&shared->log_files);
	uint64_t base;
	int error, tries;

	if (log_fd != -1 && files == log_seen && *offset >= log_first &&
	    *offset < log_last)
		return 0;
	for (tries = 0; tries < MAX_ROOMS; tries++) {
		files = atomic_load(&shared->log_files);
		base = atomic_load(&shared->log_base);
		if (*offset < base) {
			if (open_aside(offset) == 0) {
				log_seen = files;
				return 0;
			}
			continue;
		}
		error = reopen(O_RDONLY);
		log_first = base;
		log_last = UINT64_MAX;
		if (error != 0 || log_seen == files)
			return error;
	}
	return ENOENT;
}

/* Reads whole lines from offset on, before limit. Offset moves forward where lines
 * are gone with their file. Returns 0 or an errno. It takes no lock: lines before
 * shared->log_end were written before they were published, and never change. No
 * process reads behind that end. */
int
log_read(uint64_t *offset, uint64_t limit, char *lines, size_t size,
    size_t *len)
{
	uint64_t most;
	ssize_t more;
	int error;

	*len = 0;
	if ((error = file_at(offset)) != 0)
		return error;
	if (*offset >= limit)
		return 0;
	most = (limit < log_last ? limit : log_last) - *offset;
	more = pread(log_fd, lines, most < size ? (size_t)most : size,
	    (off_t)(*offset - log_first));
	if (more == -1)
		return errno;
	for (*len = (size_t)more; *len > 0 && lines[*len - 1] != '\n'; --*len)
		continue;
	if (*len == 0 && log_seen == atomic_load(&shared->log_files))
		*offset = limit;	/* the file was cut */
	return 0;
}

/* log_read as the paper's readers do it: under a shared lock, so that no process
 * writes meanwhile, and any number of them read at once. */
int
log_read_shared(uint64_t *offset, uint64_t limit, char *lines, size_t size,
    size_t *len)
{
	_Atomic uint32_t *word = &shared->slots[self.slot].send_lock;
	int error;

	*len = 0;
	if ((error = file_at(offset)) != 0 ||
	    (error = logfile_lock(log_fd, LOCK_SH, word)) != 0)
		return error;
	error = log_read(offset, limit, lines, size, len);
	(void)logfile_lock(log_fd, LOCK_UN, word);
	return error;
}

/* For main, which reads seldom: its children open the log themselves. */
void
log_close(void)
{
	if (log_fd != -1)
		(void)close(log_fd);
	log_fd = -1;
	log_seen = 0;
}
