/* What lwIP's threads wait with. sys_arch.c has the functions. */
#include <pthread.h>
#include <semaphore.h>

struct semaphore {
	sem_t	 sem;
	int	 valid;
};

struct mailbox;

typedef struct semaphore sys_sem_t;
typedef pthread_mutex_t sys_mutex_t;
typedef struct mailbox *sys_mbox_t;
typedef pthread_t sys_thread_t;
typedef int sys_prot_t;
