/*
 * The system calls that our processes may use: a client that takes one over gets
 * no socket, no program and no new process. On systems without such a filter,
 * nothing is done. Capsicum is not used: under it a process cannot open a file
 * by its name, and readers of the log must, since it is rotated.
 */
#include "chat.h"
#include "daemon.h"

#if defined(__OpenBSD__)

#include <err.h>
#include <unistd.h>

void
sandbox(enum role role)
{
	static const char *const promises[] = {
		[ROLE_MAIN] = "stdio rpath wpath cpath flock inet proc id",
		[ROLE_RECV] = "stdio rpath wpath cpath flock proc",
		[ROLE_SEND] = "stdio rpath flock proc",
	};

	if (role == ROLE_MAIN && unveil(paths.folder, "rwc") == -1)
		err(1, "unveil");
	if (pledge(promises[role], NULL) == -1)
		err(1, "pledge");
}

#elif defined(__linux__) && !defined(__SANITIZE_ADDRESS__)

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stddef.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__s390x__)
#define ARCH AUDIT_ARCH_S390X
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH AUDIT_ARCH_PPC64LE
#endif

#ifdef ARCH	/* 32-bit systems have a second set of calls, untested: none */

#define ALLOW(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(recvfrom), ALLOW(sendto), ALLOW(flock), ALLOW(fstat),
	ALLOW(write), ALLOW(pread64), ALLOW(read), ALLOW(getppid),
#ifdef SYS_send	/* the C libraries of s390x and ppc64 call these */
	ALLOW(send), ALLOW(recv),
#endif
#ifdef SYS_socketcall
	ALLOW(socketcall),
#endif
#ifdef SYS_poll
	ALLOW(poll),
#endif
	ALLOW(ppoll), ALLOW(shutdown), ALLOW(fdatasync), ALLOW(ftruncate),
	ALLOW(openat), ALLOW(close), ALLOW(newfstatat), ALLOW(getdents64),
#ifdef SYS_open	/* musl */
	ALLOW(open), ALLOW(stat),
#endif
	ALLOW(lseek), ALLOW(fcntl), ALLOW(wait4), ALLOW(kill),
	ALLOW(clock_gettime), ALLOW(rt_sigreturn), ALLOW(rt_sigprocmask),
	ALLOW(restart_syscall), ALLOW(brk), ALLOW(mmap), ALLOW(munmap),
	ALLOW(exit_group), ALLOW(exit), ALLOW(getpid), ALLOW(gettid),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

/* For the two children. main starts processes and accepts connections, and could
 * give up little else. */
void
sandbox(enum role role)
{
	struct sock_fprog program = {
		sizeof filter / sizeof filter[0], filter
	};

	if (role == ROLE_MAIN ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return;
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

void
sandbox(enum role role)
{
	(void)role;
}

#endif

#else

void
sandbox(enum role role)
{
	(void)role;
}

#endif
