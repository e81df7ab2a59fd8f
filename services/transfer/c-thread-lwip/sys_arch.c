/*
 * lwIP's port to POSIX threads: semaphores, mutexes, mailboxes of a fixed size,
 * threads. lwIP's package for Unix has one that allocates each of these; here
 * semaphores and mutexes stand in the objects that they belong to.
 */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <lwip/sys.h>

/* A bounded queue of pointers, for many that post and many that fetch. */
struct mailbox {
	pthread_mutex_t	 lock;
	pthread_cond_t	 filled, emptied;
	int		 size, count, first;
	void		*letters[];
};

static pthread_mutex_t protection;

#ifdef __SANITIZE_THREAD__
/*
 * lwIP reads two fields of a netconn without its lock. netconn_write looks at a
 * flag that never changes here, while others beside it do. netconn_recv looks
 * whether the connection was reset meanwhile; either answer is right.
 */
const char	*__tsan_default_suppressions(void);

const char *
__tsan_default_suppressions(void)
{
	return "race:netconn_write_vectors_partly\nrace:err_tcp\n";
}
#endif

u32_t
sys_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u32_t)now.tv_sec * 1000 + (u32_t)(now.tv_nsec / 1000000);
}

void
sys_init(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&protection, &attr);
}

/* lwIP nests these. */
sys_prot_t
sys_arch_protect(void)
{
	pthread_mutex_lock(&protection);
	return 0;
}

void
sys_arch_unprotect(sys_prot_t none)
{
	(void)none;
	pthread_mutex_unlock(&protection);
}

static struct timespec
after(u32_t wait_ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += (time_t)(wait_ms / 1000);
	at.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

err_t
sys_sem_new(sys_sem_t *sem, u8_t count)
{
	sem->valid = sem_init(&sem->sem, 0, count) == 0;
	return sem->valid ? ERR_OK : ERR_MEM;
}

void
sys_sem_free(sys_sem_t *sem)
{
	sem_destroy(&sem->sem);
}

int
sys_sem_valid(sys_sem_t *sem)
{
	return sem->valid;
}

void
sys_sem_set_invalid(sys_sem_t *sem)
{
	sem->valid = 0;
}

void
sys_sem_signal(sys_sem_t *sem)
{
	sem_post(&sem->sem);
}

/* Waits without a limit if wait_ms is 0. Callers want to know of a timeout. */
u32_t
sys_arch_sem_wait(sys_sem_t *sem, u32_t wait_ms)
{
	struct timespec end = after(wait_ms);
	int failed;

	do
		failed = wait_ms == 0 ? sem_wait(&sem->sem) :
		    sem_clockwait(&sem->sem, CLOCK_MONOTONIC, &end);
	while (failed == -1 && errno == EINTR);
	return failed == -1 ? SYS_ARCH_TIMEOUT : 0;
}

err_t
sys_mutex_new(sys_mutex_t *mutex)
{
	return pthread_mutex_init(mutex, NULL) == 0 ? ERR_OK : ERR_MEM;
}

void
sys_mutex_free(sys_mutex_t *mutex)
{
	pthread_mutex_destroy(mutex);
}

void
sys_mutex_lock(sys_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

void
sys_mutex_unlock(sys_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

err_t
sys_mbox_new(sys_mbox_t *mbox, int size)
{
	struct mailbox *m;

	m = malloc(sizeof *m + (size_t)size * sizeof m->letters[0]);
	if ((*mbox = m) == NULL)
		return ERR_MEM;
	m->size = size;
	m->count = m->first = 0;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->filled, NULL);
	pthread_cond_init(&m->emptied, NULL);
	return ERR_OK;
}

void
sys_mbox_free(sys_mbox_t *mbox)
{
	pthread_cond_destroy(&(*mbox)->filled);
	pthread_cond_destroy(&(*mbox)->emptied);
	pthread_mutex_destroy(&(*mbox)->lock);
	free(*mbox);
}

int
sys_mbox_valid(sys_mbox_t *mbox)
{
	return *mbox != NULL;
}

void
sys_mbox_set_invalid(sys_mbox_t *mbox)
{
	*mbox = NULL;
}

static err_t
post(struct mailbox *m, void *letter, bool may_wait)
{
	pthread_mutex_lock(&m->lock);
	while (may_wait && m->count == m->size)
		pthread_cond_wait(&m->emptied, &m->lock);
	if (m->count == m->size) {
		pthread_mutex_unlock(&m->lock);
		return ERR_MEM;
	}
	m->letters[(m->first + m->count++) % m->size] = letter;
	pthread_mutex_unlock(&m->lock);
	pthread_cond_signal(&m->filled);
	return ERR_OK;
}

void
sys_mbox_post(sys_mbox_t *mbox, void *letter)
{
	post(*mbox, letter, true);
}

err_t
sys_mbox_trypost(sys_mbox_t *mbox, void *letter)
{
	return post(*mbox, letter, false);
}

err_t
sys_mbox_trypost_fromisr(sys_mbox_t *mbox, void *letter)
{
	return post(*mbox, letter, false);
}

/* Takes a letter; the lock is held and there is one. lwIP may throw it away. */
static void
take(struct mailbox *m, void **letter)
{
	if (letter != NULL)
		*letter = m->letters[m->first];
	m->first = (m->first + 1) % m->size;
	if (m->count-- == m->size)
		pthread_cond_signal(&m->emptied);
}

/* Waits without a limit if wait_ms is 0. */
u32_t
sys_arch_mbox_fetch(sys_mbox_t *mbox, void **letter, u32_t wait_ms)
{
	struct mailbox *m = *mbox;
	struct timespec end;
	int error = 0;

	if (wait_ms != 0)
		end = after(wait_ms);
	pthread_mutex_lock(&m->lock);
	while (m->count == 0 && error == 0)
		error = wait_ms == 0 ? pthread_cond_wait(&m->filled, &m->lock) :
		    pthread_cond_clockwait(&m->filled, &m->lock, CLOCK_MONOTONIC, &end);
	if (m->count > 0) {
		error = 0;
		take(m, letter);
	}
	pthread_mutex_unlock(&m->lock);
	return error == 0 ? 0 : SYS_ARCH_TIMEOUT;
}

u32_t
sys_arch_mbox_tryfetch(sys_mbox_t *mbox, void **letter)
{
	struct mailbox *m = *mbox;
	bool found;

	pthread_mutex_lock(&m->lock);
	if ((found = m->count > 0))
		take(m, letter);
	pthread_mutex_unlock(&m->lock);
	return found ? 0 : SYS_MBOX_EMPTY;
}

struct start {
	lwip_thread_fn	 run;
	void		*arg;
};

static void *
begin(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	start.run(start.arg);
	return NULL;
}

/* The stack's own thread: sizes and priorities are for smaller systems. */
sys_thread_t
sys_thread_new(const char *name, lwip_thread_fn run, void *arg, int stack, int priority)
{
	struct start *start = malloc(sizeof *start);
	pthread_t thread;

	(void)name;
	(void)stack;
	(void)priority;
	if (start == NULL)
		err(1, "a thread");
	*start = (struct start){ run, arg };
	if ((errno = pthread_create(&thread, NULL, begin, start)) != 0)
		err(1, "a thread");
	return thread;
}
