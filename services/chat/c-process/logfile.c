/*
 * The file DATA/log: how it is locked, repaired after a death in the middle of a
 * write, made anew, and rotated to DATA/log.OFFSET, where OFFSET is that of its
 * first byte. Offsets count all bytes that were ever logged, so a rotation does
 * not change them.
 */
#include "chat.h"
#include "daemon.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stat known;	/* main's: which file is DATA/log */

/* A lock of flock belongs to an open file description, which fork shares. So each
 * process opens the file itself, after fork. The word tells main of the lock. */
int
logfile_lock(int fd, int how, _Atomic uint32_t *word)
{
	uint32_t count = 0;
	int result;

	if (word != NULL) {
		count = atomic_load_explicit(word, memory_order_relaxed);
		count += LOCK_STATES - count % LOCK_STATES;
	}
	if (word != NULL && how != LOCK_UN)
		atomic_store(word, count + LOCK_WANTED);
	while ((result = flock(fd, how)) == -1 && errno == EINTR)
		continue;
	if (word != NULL)
		atomic_store(word, how == LOCK_UN || result == -1 ? count :
		    count + LOCK_HELD);
	return result == 0 ? 0 : errno;
}

/* Is called with the lock held, when the file is longer than shared->log_end: a
 * RECV was killed in a write or before it published. Whole lines stay. The rest
 * was never acknowledged. */
int
logfile_repair(int fd, uint64_t *size)
{
	char tail[LINE_BYTES * 2], *lf = NULL;
	uint64_t at = *size;
	ssize_t len;

	while (at > 0 && lf == NULL) {
		size_t want = at < sizeof tail ? (size_t)at : sizeof tail;

		len = pread(fd, tail, want, (off_t)(at - want));
		if (len != (ssize_t)want)
			return len == -1 ? errno : EIO;
		for (lf = tail + want; lf > tail && lf[-1] != '\n'; lf--)
			continue;
		if (lf == tail) {
			at -= want;
			lf = NULL;
		} else
			at -= (uint64_t)(tail + want - lf);
	}
	if (at != *size && ftruncate(fd, (off_t)at) == -1)
		return errno;
	*size = at;
	return 0;
}

int
folder_sync(void)
{
	int fd = open(paths.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = fd == -1 || fsync(fd) == -1 ? errno : 0;

	if (fd != -1)
		(void)close(fd);
	return result;
}

static void
publish(uint64_t base, uint64_t end)
{
	atomic_store(&shared->log_base, base);
	atomic_store(&shared->log_end, end);
	atomic_fetch_add(&shared->log_files, 1);
}

/* Returns the end of the rotated files: DATA/log begins there if no record says. */
static uint64_t
base_of_folder(void)
{
	DIR *dir = opendir(paths.folder);
	struct dirent *entry;
	struct stat st;
	char path[PATH_MAX + 32];
	uint64_t base = 0, at;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (sscanf(entry->d_name, "log.%20" SCNu64, &at) != 1)
			continue;
		(void)snprintf(path, sizeof path, "%s.%020" PRIu64, paths.log, at);
		if (stat(path, &st) == 0 && at + (uint64_t)st.st_size > base)
			base = at + (uint64_t)st.st_size;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return base;
}

/* Opens the log at the start. An earlier server acknowledged nothing behind the
 * last LF. A child of that server which is left sees that its main is gone, and
 * writes no more. */
void
logfile_start(uint64_t base)
{
	int fd = open(paths.log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	uint64_t size, found;
	struct stat st;
	int error;

	if (fd == -1 || flock(fd, LOCK_EX) == -1 || fstat(fd, &st) == -1)
		err(1, "%s", paths.log);
	known = st;
	size = (uint64_t)st.st_size;
	if ((error = logfile_repair(fd, &size)) == 0 && fdatasync(fd) == -1)
		error = errno;
	if (error == 0)
		error = folder_sync();
	if ((errno = error) != 0)
		err(1, "%s", paths.log);
	found = base_of_folder();
	if (found > base)
		base = found;
	publish(base, base + size);
	atomic_store(&shared->log_synced, base + size);
	(void)close(fd);
}

/* A child has found another file, or none. A new file begins where the lost one
 * ended. Returns 0 when there is a log to write to. */
int
logfile_mend(void)
{
	uint64_t end = atomic_load(&shared->log_end), size;
	struct stat st;
	int fd, error;

	if (stat(paths.log, &st) == 0 && st.st_ino == known.st_ino &&
	    st.st_dev == known.st_dev)
		return 0;	/* main knows it already: the child was late */
	fd = open(paths.log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1)
		return errno;
	error = fstat(fd, &st) == -1 || fsync(fd) == -1 ? errno :
	    folder_sync();
	(void)close(fd);
	if (error != 0)
		return error;
	known = st;
	size = (uint64_t)st.st_size;
	complain("%s was gone, a new one begins at %" PRIu64, paths.log, end);
	publish(end > size ? end - size : 0, end > size ? end : size);
	return 0;
}

/* Rotates the log. EAGAIN: a process has the lock, try again. Clients that are
 * behind read on in the old file, so nothing is lost. */
int
logfile_rotate(void)
{
	char aside[PATH_MAX + 32];
	uint64_t base = atomic_load(&shared->log_base);
	uint64_t end = atomic_load(&shared->log_end);
	int fd, fresh = -1, error = 0;

	if (base == end)
		return 0;	/* it is empty */
	fd = open(paths.log, O_RDWR | O_APPEND | O_CLOEXEC);
	if (fd == -1)
		return errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		error = errno == EWOULDBLOCK ? EAGAIN : errno;
		(void)close(fd);
		return error;
	}
	end = atomic_load(&shared->log_end);
	(void)snprintf(aside, sizeof aside, "%s.%020" PRIu64, paths.log, base);
	if (ftruncate(fd, (off_t)(end - base)) == -1 || fdatasync(fd) == -1 ||
	    rename(paths.log, aside) == -1)
		error = errno;
	else if ((fresh = open(paths.log,
	    O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) == -1 ||
	    fstat(fresh, &known) == -1) {
		error = errno;
		(void)rename(aside, paths.log);
	} else {
		error = folder_sync();
		publish(end, end);
		atomic_store(&shared->log_synced, end);
		(void)close(fresh);
	}
	(void)close(fd);
	return error;
}
