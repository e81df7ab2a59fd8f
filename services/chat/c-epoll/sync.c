/*
 * sync: the disk takes its time, and the loop does not wait for it. A thread
 * calls fdatasync once for all clients that wait for an acknowledgement. Those
 * that come while it does wait for the next call. Loop and thread hand the job
 * to each other by event descriptors, so neither touches it while the other
 * has it.
 */
#define LAYER L_SYNC
#include "sync.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "keep.h"
#include "out.h"
#include "record.h"

enum {
	UNSYNCED_BYTES = 1 << 18,	/* a guess: more waits for the disk */
};

int sync_done = -1;
static int sync_ask = -1;
static bool under_way;
static struct {
	int		 fd;
	off_t		 end;
	uint64_t	 kept;
	int		 error;		/* of the log */
	bool		 keeps;		/* DATA/members is written, too */
} job;

static void *
wait_for_disk(void *unused)
{
	eventfd_t count;

	(void)unused;
	for (;;) {
		if (eventfd_read(sync_ask, &count) == -1)
			continue;
		job.error = job.fd == -1 ? ENOENT :
		    fdatasync(job.fd) == -1 ? errno : 0;
		job.keeps = keep_sync();
		eventfd_write(sync_done, 1);
	}
	return NULL;
}

void
sync_start(void)
{
	pthread_t thread;

	sync_ask = eventfd(0, EFD_CLOEXEC);
	sync_done = eventfd(0, EFD_CLOEXEC);
	if (sync_ask == -1 || sync_done == -1)
		err(1, "eventfd");
	if ((errno = pthread_create(&thread, NULL, wait_for_disk, NULL)) != 0)
		err(1, "thread");
	pthread_detach(thread);
}

/* Starts a sync if a client waits for one, or all is set and there is work. */
void
sync_begin(bool all)
{
	keep_write();
	if (under_way || (held.first == NULL && (!all ||
	    (record.synced == record.end && keep_synced == keep_written))))
		return;
	for (struct conn *c = held.first; c != NULL; c = list_next(&held, c))
		c->queue.covered = c->queue.held.len;
	job.fd = record.fd;
	job.end = record.end;
	job.kept = keep_written;
	under_way = true;
	eventfd_write(sync_ask, 1);
}

/* Releases the acknowledgements that waited. If the disk failed, none is sent. */
void
sync_end(void)
{
	struct list waiting;
	eventfd_t count;
	struct conn *c;

	if (eventfd_read(sync_done, &count) == -1)
		return;
	under_way = false;
	keep_broken = keep_broken || !job.keeps;
	keep_synced = job.kept;
	if (job.error == 0)
		record.synced = job.end;
	waiting = list_take(&held);
	while ((c = list_pop(&waiting)) != NULL) {
		if (job.error != 0 && c->queue.said > record.synced) {
			queue_refuse(&c->queue);
			conn_end(c, strerror(job.error), CUT);
		}
		release(c);
		if (c->queue.held.len > 0)
			list_push(&held, c);
	}
}

void
sync_wait(void)
{
	if (!under_way)
		return;
	while (poll(&(struct pollfd){ sync_done, POLLIN, 0 }, 1, -1) != 1)
		;
	sync_end();
}

/*
 * A client that waits for its echo gets nothing else meanwhile. No more than
 * this is said during a sync, which bounds what piles up for such clients.
 */
void
sync_bound(void)
{
	if (held.first == NULL || !under_way ||
	    record.end - job.end <= UNSYNCED_BYTES)
		return;
	sync_wait();
	sync_begin(false);
}
