/* How main lives on a machine: options, background, log, identity. */
#ifndef DAEMON_H
#define DAEMON_H

#include "chat.h"

struct options {
	bool		background;
	const char	*pid_file, *user;
	uint64_t	aside_bytes;	/* the log is put aside at this size; 0: never */
	uint64_t	each;		/* clients of one address; 0: any number */
	const char	*port, *host, *folder;
};

void	options_read(struct options *, int, char *[]);
void	daemon_start(const struct options *);
void	daemon_drop(const struct options *);
void	daemon_ready(const struct options *);
void	daemon_end(const struct options *);
void	complain(const char *, ...) __attribute__((format(printf, 1, 2)));

enum role { ROLE_MAIN, ROLE_RECV, ROLE_SEND };
void	sandbox(enum role);

#endif
