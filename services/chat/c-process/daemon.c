/*
 * main as a daemon: it goes into the background only when it has started well,
 * writes to syslog from there, and drops privileges that it does not need.
 */
#include "chat.h"
#include "daemon.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

/* A guess: enough for an office or a house of students behind one address. It is
 * a 64th of all places, so that a few addresses cannot take all of them. */
enum { EACH_CLIENTS = 64 };

static int ready_pipe = -1;	/* to the process that was started */
static int null_fd = -1;	/* opened before the root changes */
static bool to_syslog;
static int pid_fd = -1;

static _Noreturn void
usage(void)
{
	errx(1, "usage: chat [-b] [-c clients] [-p pidfile] [-s bytes] "
	    "[-u user] port host folder");
}

/* Refuses a sign, which strtoull would take. */
static uint64_t
number(char option, const char *text, const char *of)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
		errx(1, "-%c %s: not a number of %s", option, text, of);
	return value;
}

void
options_read(struct options *o, int argc, char *argv[])
{
	int option;

	o->each = EACH_CLIENTS;
	while ((option = getopt(argc, argv, "bc:p:s:u:")) != -1)
		switch (option) {
		case 'b':
			o->background = true;
			break;
		case 'c':
			o->each = number('c', optarg, "clients");
			break;
		case 'p':
			o->pid_file = optarg;
			break;
		case 's':
			o->aside_bytes = number('s', optarg, "bytes");
			if (o->aside_bytes == 0)
				errx(1, "-s 0: not a number of bytes");
			break;
		case 'u':
			o->user = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind != 3)
		usage();
	o->port = argv[optind];
	o->host = argv[optind + 1];
	o->folder = argv[optind + 2];
}

/* Tells the operator; the server goes on. */
void
complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (to_syslog)
		vsyslog(LOG_WARNING, format, args);
	else
		vwarnx(format, args);
	va_end(args);
}

/* The process that was started stays until its child is ready or has failed, and
 * its exit status says which. */
void
daemon_start(const struct options *o)
{
	int pair[2], status;
	char byte;
	pid_t pid;

	if (!o->background)
		return;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd == -1 || pipe(pair) == -1 || (pid = fork()) == -1)
		err(1, "background");
	if (pid > 0) {
		(void)close(pair[1]);
		if (read(pair[0], &byte, 1) == 1)
			_exit(0);
		(void)waitpid(pid, &status, 0);
		_exit(1);	/* the child has said why */
	}
	(void)close(pair[0]);
	ready_pipe = pair[1];
	(void)fcntl(ready_pipe, F_SETFD, FD_CLOEXEC);
	(void)setsid();
	(void)chdir("/");
}

static void
write_pid(const char *file)
{
	pid_fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (pid_fd == -1 || dprintf(pid_fd, "%ld\n", (long)getpid()) < 0)
		err(1, "%s", file);
}

/* Is called when the port is bound, and before anything is open that the user
 * could not open. The folder becomes the root, so that a process that a client
 * has taken over sees no other files. */
void
daemon_drop(const struct options *o)
{
	const struct passwd *pw;

	if (o->pid_file != NULL)
		write_pid(o->pid_file);
	if (o->user == NULL)
		return;
	if ((pw = getpwnam(o->user)) == NULL)
		errx(1, "-u %s: no such user", o->user);
	if (chown(paths.folder, pw->pw_uid, pw->pw_gid) == -1)
		err(1, "%s", paths.folder);
	openlog("chat", LOG_PID | LOG_NDELAY, LOG_DAEMON);
	if (chroot(paths.folder) == -1 || chdir("/") == -1)
		err(1, "%s as root", paths.folder);
	if (setgroups(1, &pw->pw_gid) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1)
		err(1, "-u %s", o->user);
	if (setuid(0) == 0)
		errx(1, "-u %s: it can become root again", o->user);
	(void)copy(paths.folder, sizeof paths.folder, "/.", 2);
}

void
daemon_ready(const struct options *o)
{
	int fd;

	(void)fputs("ready\n", stderr);
	if (!o->background)
		return;
	openlog("chat", LOG_PID | LOG_NDELAY, LOG_DAEMON);
	to_syslog = true;
	for (fd = 0; fd < 3; fd++)
		(void)dup2(null_fd, fd);
	(void)close(null_fd);
	(void)write(ready_pipe, "", 1);
	(void)close(ready_pipe);
}

void
daemon_end(const struct options *o)
{
	/* The file's folder may be out of reach by now: then the file is left empty. */
	if (pid_fd != -1 && unlink(o->pid_file) == -1)
		(void)ftruncate(pid_fd, 0);
}
