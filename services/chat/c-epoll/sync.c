/*
 * sync: the disk takes its time, and the loop does not wait for it. A thread
 * says fdatasync, once for all who wait for an acknowledgement; who comes
 * meanwhile waits for the next. The two hand the job over by event
 * descriptors, so that nothing is shared while a sync is under way.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "chat.h"

enum {
	UNSYNCED_BYTES = 1 << 18,	/* a guess: more waits for the disk */
};

int sync_done = -1;		/* readable when a sync has ended */
struct client *held_clients;
static int sync_ask = -1;
static bool under_way;
static struct {
	int		 fd;
	off_t		 end;
	uint64_t	 kept;
	int		 error;		/* of the log */
	bool		 keeps;		/* DATA/members is written, too */
} job;

/* What may be sent only when the disk has all that was said so far. */
void
hold(struct client *c, const char *text, size_t len)
{
	if (c->deaf)
		return;
	if (!c->holding) {
		c->holding = true;
		c->held_next = held_clients;
		held_clients = c;
	}
	c->stalled = c->echo;
	c->tail = NULL;
	if (!buffer_add(&c->held, text, len) ||
	    c->held.len + c->late.len > LATE_BYTES)
		doom(c, "too much is unread", CUT);
}

/* The disk has what the covered part of held waited for. */
static void
release(struct client *c)
{
	keep_late(c);	/* it was queued before */
	if (!c->reset && c->covered > 0 &&
	    !buffer_add(&c->late, c->held.bytes + c->held.start, c->covered))
		doom(c, "no memory", CUT);
	buffer_drop(&c->held, c->covered);
	c->covered = 0;
	c->stalled = c->echo && c->held.len > 0;
	mark_dirty(c);
}

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

/* Starts a sync if somebody waits for one, or if there is anything for it. */
void
sync_begin(bool all)
{
	keep_write();
	if (under_way || (held_clients == NULL && (!all ||
	    (record.synced == record.end && keep_synced == keep_written))))
		return;
	for (struct client *c = held_clients; c != NULL; c = c->held_next)
		c->covered = c->held.len;
	job.fd = record.fd;
	job.end = record.end;
	job.kept = keep_written;
	under_way = true;
	eventfd_write(sync_ask, 1);
}

/* The acknowledgements that waited go out; or else nobody will have them. */
void
sync_end(void)
{
	struct client *c, *waiting = held_clients;
	eventfd_t count;

	if (eventfd_read(sync_done, &count) == -1)
		return;
	under_way = false;
	keep_broken = keep_broken || !job.keeps;
	keep_synced = job.kept;
	if (job.error == 0)
		record.synced = job.end;
	held_clients = NULL;
	while ((c = waiting) != NULL) {
		waiting = c->held_next;
		if (job.error != 0 && c->said > record.synced) {
			buffer_drop(&c->held, c->held.len);
			c->covered = 0;
			doom(c, strerror(job.error), CUT);
		}
		release(c);
		c->holding = c->held.len > 0;
		if (!c->holding)
			continue;
		c->held_next = held_clients;
		held_clients = c;
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
 * A client that waits for its echo gets nothing else meanwhile. So that what
 * piles up is bounded, no more than this is said during a sync.
 */
void
sync_bound(void)
{
	if (held_clients == NULL || !under_way ||
	    record.end - job.end <= UNSYNCED_BYTES)
		return;
	sync_wait();
	sync_begin(false);
}
