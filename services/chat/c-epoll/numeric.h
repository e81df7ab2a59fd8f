/* The commands of a server's replies, by the names of RFC 2812 section 5. */
#ifndef NUMERIC_H
#define NUMERIC_H

enum {
	ERR_NOSUCHNICK = 401,
	ERR_NOSUCHCHANNEL = 403,
	ERR_CANNOTSENDTOCHAN = 404,
	ERR_INPUTTOOLONG = 417,
};

#endif
