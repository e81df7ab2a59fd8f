/* main reads the log itself when no RECV has told it of lines, or none will. */
#include "main.h"

#include <inttypes.h>
#include <string.h>

/* The log has the topic of a room, and main may not have been told of the last one
 * yet. A client that has heard that one must get it as the answer. No client
 * learns a topic before the log has it. */
void
look_for_topic(uint32_t number)
{
	struct room *r = &rooms[number];
	uint64_t place = atomic_load(&shared->topic_at[number]), at = place - 1;
	char lines[2 * LINE_BYTES];
	struct said said;
	size_t len;

	if (place <= r->topic_at)
		return;
	if (log_read(&at, atomic_load(&shared->log_end), lines, sizeof lines,
	    &len) == 0 && len > 0 && at == place - 1 && said_parse(lines,
	    (size_t)((char *)memchr(lines, '\n', len) - lines), &said)) {
		r->topic_at = place;
		(void)copy(r->topic, sizeof r->topic, said.text.at,
		    said.text.len);
		journal("T %s %" PRIu64 " :%s\n", r->name, place, r->topic);
	}
	log_close();
}

/* Finds the rooms and persons of lines of the log whose RECV is dead. */
void
learn(uint64_t at, uint64_t end)
{
	char lines[4 * LINE_BYTES];
	const char *line, *lf;
	struct said s;
	uint32_t number;
	size_t len;

	for (; at < end && log_read(&at, end, lines, sizeof lines, &len) == 0 &&
	    len > 0; at += len)
		for (line = lines; line < lines + len; line = lf + 1) {
			lf = memchr(line, '\n', (size_t)(lines + len - line));
			if (!said_parse(line, (size_t)(lf - line), &s))
				continue;
			number = person_find(s.target.at, s.target.len);
			if (number != NOBODY)
				persons[number].last = persons[number].last > end ?
				    persons[number].last : end;
			number = room_find(s.target.at, s.target.len);
			if (number == NOBODY)
				continue;
			shared_raise(&shared->last[number], end);
			if (is_word(&s.command, "TOPIC"))
				shared_raise(&shared->topic_at[number],
				    at + (uint64_t)(line - lines) + 1);
			look_for_topic(number);
		}
	log_close();
}
