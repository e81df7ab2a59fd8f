package hall

import (
	"maps"
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// helps are the answers to HELP by subject: how a command is written, and what it does.
var helps = map[string][]string{
	"CAP":          {"CAP LS 302, CAP REQ :NAMES, CAP LIST, CAP END - capabilities of IRCv3"},
	"PASS":         {"PASS PASSWORD - the password of the server, before NICK and USER"},
	"NICK":         {"NICK NAME - takes another nick. That of your account is always yours"},
	"USER":         {"USER NAME 0 * :REAL NAME - registers the connection, together with NICK"},
	"AUTHENTICATE": {"AUTHENTICATE MECHANISM - logs in (SASL). Your client does it for you"},
	"REGISTER":     {"REGISTER NAME * PASSWORD - makes an account. * stands for your nick"},
	"PING":         {"PING WORD - is answered with PONG and the word"},
	"PONG":         {"PONG WORD - answers a PING of the server. Your client does it for you"},
	"QUIT":         {"QUIT :REASON - ends the connection"},
	"JOIN":         {"JOIN #ROOM,... KEY,... - joins rooms, or makes them"},
	"PART":         {"PART #ROOM,... :REASON - leaves rooms"},
	"PRIVMSG":      {"PRIVMSG TARGET,... :TEXT - says something to rooms and nicks"},
	"NOTICE":       {"NOTICE TARGET,... :TEXT - as PRIVMSG, and never answered by programs"},
	"TAGMSG":       {"TAGMSG TARGET,... - sends tags without a text: typing, reactions"},
	"RENAME":       {"RENAME #ROOM #NAME :REASON - gives a room another name, as its founder"},
	"TOPIC":        {"TOPIC #ROOM - shows the topic. TOPIC #ROOM :TEXT changes it"},
	"KICK":         {"KICK #ROOM NICK,... :REASON - removes members, as an operator of the room"},
	"MARKREAD":     {"MARKREAD TARGET timestamp=TIME - notes up to when you have read"},
	"INVITE":       {"INVITE NICK #ROOM - invites. INVITE alone lists your invitations"},
	"MODE": {"MODE #ROOM - shows the modes of a room. MODE #ROOM +b lists its bans",
		"MODE #ROOM +m-i - changes modes, as an operator of the room. MODE NICK +i changes yours"},
	"AWAY":    {"AWAY :TEXT - marks you as away. AWAY alone ends that"},
	"KILL":    {"KILL NICK :REASON - ends the connections of a user, as an administrator"},
	"WALLOPS": {"WALLOPS :TEXT - says something to all users with MODE +w, as an operator"},
	"ACCEPT":  {"ACCEPT NICK,-NICK,* - users without an account that MODE +R lets through"},
	"SETNAME": {"SETNAME :REAL NAME - changes your real name"},
	"NAMES":   {"NAMES #ROOM,... - lists the members of rooms"},
	"WHO":     {"WHO #ROOM, WHO MASK - lists users with their addresses"},
	"WHOWAS":  {"WHOWAS NICK - lists users that have left"},
	"METADATA": {"METADATA * SET KEY :VALUE - describes you: display-name, avatar, color ...",
		"METADATA NICK LIST, METADATA #ROOM GET KEY - shows what is known"},
	"MONITOR":     {"MONITOR + NICK,... - tells you when users come and go; -, C, L and S, too"},
	"OPER":        {"OPER ACCOUNT PASSWORD - gives you the role of an operator's account"},
	"WHOIS":       {"WHOIS NICK - says who a user is"},
	"NS":          {"NS HELP - what you can do with your account"},
	"CS":          {"CS HELP - what you can do with your rooms"},
	"LIST":        {"LIST MASK,... - lists rooms. !MASK, <MEMBERS and >MEMBERS choose, too"},
	"MOTD":        {"MOTD - shows the message of the day"},
	"LUSERS":      {"LUSERS - counts users and rooms"},
	"LINKS":       {"LINKS - lists servers. Users see one here, so the list is empty"},
	"HELP":        {"HELP COMMAND - explains a command"},
	"ISON":        {"ISON NICK ... - says which of the nicks are here"},
	"USERHOST":    {"USERHOST NICK ... - shows the addresses of up to 5 users"},
	"INFO":        {"INFO - says which program this server runs"},
	"VERSION":     {"VERSION - says which version of it"},
	"TIME":        {"TIME - shows the time of the last message"},
	"CHATHISTORY": {"CHATHISTORY LATEST TARGET * 50 - shows earlier messages"},
	"SEARCH":      {"SEARCH TARGET WORD ... - finds messages with all words"},
	"REDACT":      {"REDACT TARGET MSGID :REASON - removes a message"},
	"REPORT": {"REPORT NICK :REASON - tells the operators of a user",
		"REPORT TARGET MSGID :REASON - tells them of a message, which they then see"},
	"REPORTS": {"REPORTS LIST, REPORTS SHOW ID, REPORTS CLOSE ID :REMARK - as an operator"},
	"UBAN": {"UBAN ADD TARGET DURATION 7d REASON - bans an account, an address or a mask",
		"UBAN DEL TARGET, UBAN LIST, UBAN INFO TARGET - as an operator"},
	"WEBPUSH": {"WEBPUSH REGISTER URL KEYS - has a device notified",
		"WEBPUSH UNREGISTER URL - ends that"},
}

// otherHelps are subjects that are another word for one of helps.
var otherHelps = map[string]string{"NICKSERV": "NS", "CHANSERV": "CS", "HELPOP": "HELP"}

// helpIndex is in bytes: how long the lines of the list of subjects are.
const helpIndex = 60

// help answers HELP: with the subjects, or with one of them.
func (h *Hall) help(c *Client, m *irc.Message) Entry {
	subject := strings.ToUpper(m.Param(0))
	lines, found := helps[subject]
	if other := otherHelps[subject]; other != "" {
		lines, found = helps[other], true
	}
	switch {
	case subject == "":
		subject, lines = "*", helpSubjects()
	case !found:
		h.num(c, irc.ERR_HELPNOTFOUND, middle(subject)+" :There is no help on that. HELP lists "+
			"what there is")
		return Entry{}
	}
	h.num(c, irc.RPL_HELPSTART, subject+" :"+lines[0])
	for _, l := range lines[1:] {
		h.num(c, irc.RPL_HELPTXT, subject+" :"+l)
	}
	h.num(c, irc.RPL_ENDOFHELP, subject+" :End of HELP")
	return Entry{}
}

// helpSubjects lists what there is help on, in lines.
func helpSubjects() []string {
	lines, line := []string{"HELP COMMAND explains a command. These are all:"}, ""
	for _, subject := range slices.Sorted(maps.Keys(helps)) {
		if len(line)+len(subject) > helpIndex {
			lines, line = append(lines, line[1:]), ""
		}
		line += " " + subject
	}
	return append(lines, line[1:])
}
