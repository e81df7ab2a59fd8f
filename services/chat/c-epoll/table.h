/*
 * table: things found by their names, without case.
 */
#ifndef TABLE_H
#define TABLE_H

#include "chat.h"
#if LAYER < L_TABLE
#error "table.h stands below the layer of this file: see chat.h"
#endif

#include <stddef.h>
#include <stdint.h>

struct name {
	struct name	*next;
	uint32_t	 hash;
	char		*text;
};

struct table {
	struct name	**slots;
	size_t		  size, count;
};

struct name *table_find(const struct table *, const char *);
void	 table_add(struct table *, struct name *, const char *);
void	 table_remove(struct table *, struct name *);
void	*must(void *);		/* memory that must be there */

#endif
