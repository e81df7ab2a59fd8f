/*
 * chat, one event loop: the limits of the protocol, and the order of the files.
 * Each line below is a layer: a .c file and the header of its functions.
 *
 *	table	 names without case, in a hash table
 *	line	 buffers, and what a line of the protocol is made of
 *	queue	 what waits for one socket
 *	conn	 a connection: its socket, its state, the lists that it is on
 *	out	 lines for clients: written once, sent to many in one write each
 *	record	 DATA/log, the file
 *	keep	 DATA/members, the file
 *	sync	 the thread that waits for the disk
 *	member	 nicks, rooms, and which nick is a member of which room
 *	snapshot DATA/members read at the start, and written anew
 *	alive	 the PINGs that a client has not answered
 *	login	 what a client says of itself
 *	client	 a connection with all that belongs to it
 *	room	 the clients that are in a room
 *	ping	 clients are asked what they have received
 *	log	 messages: a batch is written, then delivered; and replies
 *	missed	 what a client has missed is read from the log
 *	join	 JOIN, PART, NAMES
 *	register CAP, PASS, NICK, USER
 *	command	 the other commands, and the table of all
 *	end	 how a client ends
 *	obey	 what a client sends is cut into lines, which are obeyed
 *	chat	 the loop
 *
 * A file calls only what stands above it in this list. The compiler holds that:
 * a .c file defines LAYER as its own layer before it includes anything, each
 * header refuses a file of a layer above its own, and a call without a
 * declaration does not compile. When a layer has news for one that stands below
 * it, it puts the connection on a list (conn.h), which the other one walks.
 *
 * All data belongs to the loop. The thread of sync.c has its job, and the file of
 * DATA/members, only while a sync is under way.
 */
#ifndef CHAT_H
#define CHAT_H

#define L_TABLE		1
#define L_LINE		2
#define L_QUEUE		3
#define L_CONN		4
#define L_OUT		5
#define L_RECORD	6
#define L_KEEP		7
#define L_SYNC		8
#define L_MEMBER	9
#define L_SNAPSHOT	10
#define L_ALIVE		11
#define L_LOGIN		12
#define L_CLIENT	13
#define L_ROOM		14
#define L_PING		15
#define L_LOG		16
#define L_MISSED	17
#define L_JOIN		18
#define L_REGISTER	19
#define L_COMMAND	20
#define L_END		21
#define L_OBEY		22
#define L_CHAT		23

enum {
	LINE_BYTES = 512,	/* RFC 1459, 2.3: a line with its end */
	TAGS_BYTES = 4096,	/* IRCv3, message-tags: with @ and blank */
	NICK_BYTES = 30,
	USER_BYTES = 10,
	ROOM_BYTES = 50,
	TOPIC_BYTES = 300,
	ROOMS = 100,		/* in which one nick may be */
	WORDS = 15,		/* RFC 1459, 2.3.1 */
	TIME_BYTES = 24,	/* 2026-11-22T07:20:11.123Z */
	LATE_BYTES = 1 << 20,	/* what a client may leave unread */
	EASE_BYTES = 65536,	/* a guess: with more it is not obeyed */
};

#endif
