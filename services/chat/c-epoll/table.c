/*
 * table: nicks and rooms by name, which is without case in ASCII. A chain for
 * each slot; twice as many slots when there are more names than slots.
 */
#define LAYER L_TABLE
#include "table.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Messages must not be lost for want of memory: the server ends without it. */
void *
must(void *memory)
{
	if (memory == NULL)
		err(1, "memory");
	return memory;
}

/* FNV-1a, over what strcasecmp calls equal in the C locale. */
static uint32_t
hash_of(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 'A' && c <= 'Z')
			c = (unsigned char)(c + 32);
		hash = (hash ^ c) * 16777619u;
	}
	return hash;
}

struct name *
table_find(const struct table *table, const char *text)
{
	uint32_t hash = hash_of(text);
	struct name *name = NULL;

	if (table->size > 0)
		name = table->slots[hash & (table->size - 1)];
	while (name != NULL &&
	    (name->hash != hash || strcasecmp(name->text, text) != 0))
		name = name->next;
	return name;
}

static void
grow(struct table *table)
{
	struct table larger = { .size = table->size ? 2 * table->size : 64 };
	struct name *name;

	larger.slots = must(calloc(larger.size, sizeof *larger.slots));
	larger.count = table->count;
	for (size_t i = 0; i < table->size; i++)
		while ((name = table->slots[i]) != NULL) {
			struct name **slot =
			    &larger.slots[name->hash & (larger.size - 1)];

			table->slots[i] = name->next;
			name->next = *slot;
			*slot = name;
		}
	free(table->slots);
	*table = larger;
}

void
table_add(struct table *table, struct name *name, const char *text)
{
	struct name **slot;

	if (table->count >= table->size)
		grow(table);
	name->text = must(strdup(text));
	name->hash = hash_of(text);
	slot = &table->slots[name->hash & (table->size - 1)];
	name->next = *slot;
	*slot = name;
	table->count++;
}

void
table_remove(struct table *table, struct name *name)
{
	struct name **slot = &table->slots[name->hash & (table->size - 1)];

	while (*slot != name)
		slot = &(*slot)->next;
	*slot = name->next;
	free(name->text);
	table->count--;
}
