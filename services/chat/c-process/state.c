/* The tables of persons, rooms and members. Their sizes are fixed. Memory is
 * reserved for them, but a page takes none before it is used. */
#include "state.h"

#include <string.h>

enum { PERSON_HASH = MAX_PERSONS * 2, ROOM_HASH = MAX_ROOMS * 2 };

struct person *persons;
struct room *rooms;
struct member *members;
uint32_t person_count, room_count;

static uint32_t *person_hash, *room_hash;	/* number + 1, or 0 */
static uint32_t free_room = NOBODY;
static uint32_t member_count, free_member = NOBODY;

void
state_init(void)
{
	persons = os_table(MAX_PERSONS * sizeof *persons);
	rooms = os_table(MAX_ROOMS * sizeof *rooms);
	members = os_table(MAX_MEMBERS * sizeof *members);
	person_hash = os_table(PERSON_HASH * sizeof *person_hash);
	room_hash = os_table(ROOM_HASH * sizeof *room_hash);
}

/* FNV-1a of the name in lower case. */
static uint32_t
hash(const char *name, size_t len)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		h = (h ^ (c >= 'A' && c <= 'Z' ? c + 32u : c)) * 16777619u;
	}
	return h;
}

uint32_t
person_find(const char *nick, size_t len)
{
	uint32_t at = hash(nick, len) % PERSON_HASH, number;

	for (; (number = person_hash[at]) != 0; at = (at + 1) % PERSON_HASH)
		if (same(persons[number - 1].nick,
		    strlen(persons[number - 1].nick), nick, len))
			return number - 1;
	return NOBODY;
}

/* Persons stay for ever, since messages for them wait. NOBODY: the table is full. */
uint32_t
person_make(const char *nick, size_t len)
{
	uint32_t number = person_find(nick, len), at;
	struct person *p;

	if (number != NOBODY || person_count == MAX_PERSONS)
		return number;
	number = person_count++;
	p = &persons[number];
	memset(p, 0, sizeof *p);
	(void)copy(p->nick, sizeof p->nick, nick, len);
	p->from = atomic_load(&shared->log_end);
	p->client = p->members = NOBODY;
	for (at = hash(nick, len) % PERSON_HASH; person_hash[at] != 0;)
		at = (at + 1) % PERSON_HASH;
	person_hash[at] = number + 1;
	return number;
}

/* A room goes when its last member has parted, and leaves a HOLE (a tombstone) in
 * the hash table: a search goes on behind it, and ends at 0. */
#define HOLE UINT32_MAX

static uint32_t
room_at(const char *name, size_t len)
{
	uint32_t at = hash(name, len) % ROOM_HASH, number, steps;

	for (steps = 0; steps < ROOM_HASH && (number = room_hash[at]) != 0;
	    steps++, at = (at + 1) % ROOM_HASH)
		if (number != HOLE && same(rooms[number - 1].name,
		    strlen(rooms[number - 1].name), name, len))
			return at;
	return NOBODY;
}

uint32_t
room_find(const char *name, size_t len)
{
	uint32_t at = room_at(name, len);

	return at == NOBODY ? NOBODY : room_hash[at] - 1;
}

uint32_t
room_make(const char *name, size_t len)
{
	uint32_t number = room_find(name, len), at;
	struct room *r;

	if (number != NOBODY)
		return number;
	if (free_room != NOBODY) {
		number = free_room;
		free_room = rooms[number].next_free;
	} else if (room_count < MAX_ROOMS)
		number = room_count++;
	else
		return NOBODY;
	r = &rooms[number];
	memset(r, 0, sizeof *r);
	(void)copy(r->name, sizeof r->name, name, len);
	r->members = NOBODY;
	atomic_store(&shared->audience[number], 0);
	atomic_store(&shared->last[number], 0);
	atomic_store(&shared->topic_at[number], 0);
	at = hash(name, len) % ROOM_HASH;
	while (room_hash[at] != 0 && room_hash[at] != HOLE)
		at = (at + 1) % ROOM_HASH;
	room_hash[at] = number + 1;
	return number;
}

/* Frees a room. Holes at the end of a chain become free places again. */
static void
room_remove(uint32_t number)
{
	struct room *r = &rooms[number];
	uint32_t at = room_at(r->name, strlen(r->name));

	room_hash[at] = HOLE;
	while (room_hash[(at + 1) % ROOM_HASH] == 0 &&
	    room_hash[at] == HOLE) {
		room_hash[at] = 0;
		at = (at + ROOM_HASH - 1) % ROOM_HASH;
	}
	r->name[0] = '\0';
	r->next_free = free_room;
	free_room = number;
}

uint32_t
member_find(uint32_t person, uint32_t room)
{
	uint32_t m = persons[person].members;

	while (m != NOBODY && members[m].room != room)
		m = members[m].next_of_person;
	return m;
}

uint32_t
member_make(uint32_t person, uint32_t room)
{
	uint32_t number = member_find(person, room);
	struct member *m;

	if (number != NOBODY)
		return number;
	if (free_member != NOBODY) {
		number = free_member;
		free_member = members[number].next_of_room;
	} else if (member_count < MAX_MEMBERS)
		number = member_count++;
	else
		return NOBODY;
	m = &members[number];
	*m = (struct member){ .person = person, .room = room,
	    .next_of_person = persons[person].members,
	    .next_of_room = rooms[room].members };
	persons[person].members = rooms[room].members = number;
	return number;
}

void
member_remove(uint32_t number)
{
	struct member *m = &members[number];
	uint32_t *link;

	for (link = &persons[m->person].members; *link != number;)
		link = &members[*link].next_of_person;
	*link = m->next_of_person;
	for (link = &rooms[m->room].members; *link != number;)
		link = &members[*link].next_of_room;
	*link = m->next_of_room;
	if (rooms[m->room].members == NOBODY)
		room_remove(m->room);
	m->next_of_room = free_member;
	free_member = number;
}

/* The person has received all before offset in the rooms that it had joined by
 * then. Messages that it had missed in a room are sent after its JOIN, so an answer
 * with an older offset says nothing of them. */
void
person_received(uint32_t person, uint64_t offset)
{
	struct person *p = &persons[person];
	uint32_t m;

	if (offset >= p->joined && offset > p->from)
		p->from = offset;
	for (m = p->members; m != NOBODY; m = members[m].next_of_person)
		if ((members[m].present || members[m].unsure) &&
		    offset >= members[m].joined && offset > members[m].from)
			members[m].from = offset;
}

void
person_away(uint32_t person)
{
	uint32_t m = persons[person].members;

	for (; m != NOBODY; m = members[m].next_of_person) {
		members[m].unsure |= members[m].present;
		members[m].present = false;
	}
}

/* The last client with this nick cannot tell any more what it has received. */
void
person_come(uint32_t person, uint64_t offset)
{
	uint32_t m = persons[person].members;

	persons[person].joined = offset;
	for (; m != NOBODY; m = members[m].next_of_person)
		members[m].unsure = false;
}
