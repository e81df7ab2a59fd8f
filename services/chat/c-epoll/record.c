/*
 * record: DATA/log, the file. Its places are counted as if it had been one file
 * from the first start, even if the file is replaced.
 */
#define LAYER L_RECORD
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct record record = { .fd = -1 };
static char log_path[4096], lock_path[4096];
static int lock = -1;

/* Removes what follows the last line feed; returns the size, or -1. */
static off_t
cut_tail(int fd)
{
	struct stat st;
	char part[4096];
	off_t end, from;
	ssize_t len;

	if (fstat(fd, &st) == -1)
		return -1;
	for (end = st.st_size; end > 0; end = from) {
		from = end > (off_t)sizeof part ? end - (off_t)sizeof part : 0;
		len = pread(fd, part, (size_t)(end - from), from);
		if (len != end - from)
			return -1;
		while (len > 0 && part[len - 1] != '\n')
			len--;
		if (len > 0) {
			end = from + len;
			break;
		}
	}
	if (end < st.st_size && ftruncate(fd, end) == -1)
		return -1;
	return end;
}

void
record_close(void)
{
	if (record.fd != -1)
		close(record.fd);
	record.fd = -1;
}

/*
 * Opens the folder's log for this server alone: the first time with the folder,
 * then with NULL. Returns what is wrong, or NULL.
 */
const char *
record_open(const char *folder)
{
	bool first = folder != NULL;
	struct stat st;
	off_t size;

	if (first) {
		snprintf(log_path, sizeof log_path, "%s/log", folder);
		snprintf(lock_path, sizeof lock_path, "%s/lock", folder);
	}
	if (lock != -1)
		close(lock);
	record_close();
	lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock == -1)
		return strerror(errno);
	if (flock(lock, LOCK_EX | LOCK_NB) == -1)
		return errno == EWOULDBLOCK ? "in use by another server" :
		    strerror(errno);
	record.fd = open(log_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC,
	    0600);
	if (record.fd == -1 || fstat(record.fd, &st) == -1 ||
	    (size = cut_tail(record.fd)) == -1)
		return strerror(errno);
	if (first)
		record.end = size;
	else if (st.st_dev != record.dev || st.st_ino != record.ino ||
	    size != record.end - record.base)
		record.floor = record.end;	/* not the log we know */
	record.base = record.end - size;
	record.dev = st.st_dev;
	record.ino = st.st_ino;
	record.synced = record.floor;
	return NULL;
}

/* Whether the file is where it was, and as long. */
bool
record_here(void)
{
	struct stat st;

	return record.fd != -1 && stat(log_path, &st) == 0 &&
	    st.st_ino == record.ino && st.st_dev == record.dev &&
	    st.st_size == record.end - record.base;
}

/* Appends lines, all or none; returns what is wrong, or NULL. */
const char *
record_write(const char *lines, size_t len)
{
	const char *reason = NULL;
	size_t done = 0;
	ssize_t part;

	while (reason == NULL && done < len) {
		part = write(record.fd, lines + done, len - done);
		if (part > 0)
			done += (size_t)part;
		else if (part == 0 || errno != EINTR)
			reason = part == 0 ? "nothing was written" :
			    strerror(errno);
	}
	if (reason == NULL)
		record.end += (off_t)done;
	else if (done > 0 && ftruncate(record.fd, record.end - record.base))
		record.dev = 0;	/* unknown, so that it is opened anew and cut */
	return reason;
}
