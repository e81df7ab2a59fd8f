/*
 * record: DATA/log, the file. All offsets in it are places in the log, as if it
 * had been one file from the first start.
 */
#ifndef RECORD_H
#define RECORD_H

#include "chat.h"
#if LAYER < L_RECORD
#error "record.h stands below the layer of this file: see chat.h"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct record {
	int	 fd;
	dev_t	 dev;
	ino_t	 ino;
	off_t	 base;		/* the place of the file's first byte */
	off_t	 floor;		/* nothing before can be read any more */
	off_t	 end;
	off_t	 synced;	/* all before is on the disk */
};

extern struct record	 record;

const char *record_open(const char *folder);
void	 record_close(void);
bool	 record_here(void);
const char *record_write(const char *lines, size_t len);

#endif
