package hall

import "interleave/papaya/irc"

// A cmd is how a command works. ask is answered at once, on this server. apply changes what others
// see, and is called when the line comes back from the log.
type cmd struct {
	words        int  // the least number of parameters
	unregistered bool // allowed before registration
	ask          func(h *Hall, c *Client, m *irc.Message) Entry
	apply        func(h *Hall, s *session, m *irc.Message)
	// asks says whether a line is only a question. It is for commands that have both ask and apply.
	// asksOf is for those where it depends on the client.
	asks   func(h *Hall, m *irc.Message) bool
	asksOf func(h *Hall, c *Client, m *irc.Message) bool
	passes bool // it goes on while the log cannot be written: see refuse.go
}

func (d *cmd) asking(h *Hall, c *Client, m *irc.Message) bool {
	return d.ask != nil && (d.apply == nil || d.asks != nil && d.asks(h, m) ||
		d.asksOf != nil && d.asksOf(h, c, m))
}

func command(word string) *cmd { return commands[word] }

var commands map[string]*cmd

// init fills the table. The table cannot be initialized where it is declared, because commands
// refer to it.
func init() {
	commands = map[string]*cmd{
		"CAP":  {words: 1, unregistered: true, ask: (*Hall).capCommand},
		"PASS": {words: 1, unregistered: true, ask: (*Hall).pass},
		"NICK": {unregistered: true, ask: (*Hall).nickUnregistered, apply: (*Hall).nick,
			asks: noNick, passes: true},
		"USER":         {words: 4, unregistered: true, ask: (*Hall).userCommand},
		"AUTHENTICATE": {words: 1, unregistered: true, ask: (*Hall).authenticate},
		"REGISTER":     {words: 3, unregistered: true, ask: (*Hall).registerCommand},
		"METADATA": {words: 2, unregistered: true, ask: (*Hall).metadataCommand,
			apply: (*Hall).changeMetadata, asks: asksMetadata},
		"PING": {unregistered: true, ask: (*Hall).ping},
		"PONG": {unregistered: true, ask: (*Hall).pong},
		"QUIT": {unregistered: true, ask: (*Hall).quit},

		"JOIN": {words: 1, ask: (*Hall).joinRenamed, apply: (*Hall).join,
			asksOf: (*Hall).asksRenamed, passes: true},
		"PART":    {words: 1, apply: (*Hall).part, passes: true},
		"RENAME":  {words: 2, apply: (*Hall).rename},
		"PRIVMSG": {ask: (*Hall).askMessage, apply: (*Hall).message, asks: (*Hall).asksMessage},
		"NOTICE":  {ask: (*Hall).askMessage, apply: (*Hall).message, asks: (*Hall).asksMessage},
		"TAGMSG":  {words: 1, apply: (*Hall).tagmsg},
		"TOPIC": {words: 1, ask: (*Hall).topic, apply: (*Hall).setTopic,
			asks: func(_ *Hall, m *irc.Message) bool { return len(m.Params) == 1 }},
		"KICK":     {words: 2, apply: (*Hall).kick},
		"MARKREAD": {ask: (*Hall).marker, apply: (*Hall).setMarker, asks: asksMarker},
		"INVITE": {ask: (*Hall).invitations, apply: (*Hall).invite,
			asks: func(_ *Hall, m *irc.Message) bool { return len(m.Params) < 2 }},
		"MODE":    {words: 1, ask: (*Hall).mode, apply: (*Hall).setMode, asks: asksMode},
		"AWAY":    {apply: (*Hall).away, passes: true},
		"KILL":    {words: 1, apply: (*Hall).kill, passes: true},
		"WALLOPS": {words: 1, apply: (*Hall).wallops, passes: true},
		"ACCEPT": {words: 1, ask: (*Hall).accepted, apply: (*Hall).acceptCommand,
			asks: func(_ *Hall, m *irc.Message) bool { return m.Param(0) == "*" }},
		"SETNAME": {words: 1, apply: (*Hall).setname},

		"NAMES":    {ask: (*Hall).names},
		"WHO":      {ask: (*Hall).who},
		"WHOWAS":   {words: 1, ask: (*Hall).whowas},
		"MONITOR":  {words: 1, ask: (*Hall).monitor},
		"OPER":     {words: 2, ask: (*Hall).oper},
		"WHOIS":    {words: 1, ask: (*Hall).whois},
		"NS":       {ask: (*Hall).nickServed},
		"NICKSERV": {ask: (*Hall).nickServed},
		"LIST":     {ask: (*Hall).list},
		"MOTD": {ask: func(h *Hall, c *Client, _ *irc.Message) Entry {
			h.motd(c)
			return Entry{}
		}},
		"LUSERS":      {ask: (*Hall).lusers},
		"LINKS":       {ask: (*Hall).links},
		"HELP":        {ask: (*Hall).help},
		"HELPOP":      {ask: (*Hall).help},
		"ISON":        {words: 1, ask: (*Hall).ison},
		"USERHOST":    {words: 1, ask: (*Hall).userhost},
		"INFO":        {ask: (*Hall).info},
		"VERSION":     {ask: (*Hall).version},
		"TIME":        {ask: (*Hall).time},
		"CHATHISTORY": {words: 4, ask: (*Hall).chathistory},
		"SEARCH":      {words: 2, ask: (*Hall).search},
		"REDACT":      {words: 2, ask: (*Hall).redact},
		"WEBPUSH":     {ask: (*Hall).webPush},
		"CS":          {ask: (*Hall).chanServ},
		"CHANSERV":    {ask: (*Hall).chanServ},
		"UBAN":        {words: 1, ask: (*Hall).uban},
		"REPORT":      {words: 2, ask: (*Hall).reportCommand},
		"REPORTS":     {words: 1, ask: (*Hall).reportsCommand},
	}
}

func noNick(_ *Hall, m *irc.Message) bool { return !mayBeNick(m.Param(0)) }

// eachNeighbour calls each once with every client of this server that shares a room with the user,
// except the user's own.
func (h *Hall) eachNeighbour(u *user, each func(c *Client)) {
	h.round++
	for _, m := range u.rooms {
		for _, c := range m.room.clients {
			if c.user != u && c.round != h.round {
				c.round = h.round
				each(c)
			}
		}
	}
}

func (h *Hall) nick(s *session, m *irc.Message) {
	nick, u := m.Param(0), s.user
	if nick == u.nick {
		return
	}
	if b, banned := h.bannedNick(u, nick); banned {
		h.num(s.client, irc.ERR_ERRONEUSNICKNAME, nick+" :The nick is banned: "+b.Why)
		return
	}
	if !h.claim(nick, u.account, u) {
		h.num(s.client, irc.ERR_NICKNAMEINUSE, nick+" :Nickname is already in use")
		return
	}
	h.changeNick(u, nick)
}

func (h *Hall) away(s *session, m *irc.Message) {
	s.away = truncate(m.Param(0), maxAway)
	if s.away == "" {
		h.num(s.client, irc.RPL_UNAWAY, ":You are no longer marked as being away")
	} else {
		h.num(s.client, irc.RPL_NOWAWAY, ":You have been marked as being away")
	}
	h.updateAway(s.user)
}

func (h *Hall) setname(s *session, m *irc.Message) {
	s.user.real = truncate(m.Param(0), maxReal)
	h.tellChange(s.user, setname, "SETNAME :"+s.user.real)
}

func (h *Hall) ping(c *Client, m *irc.Message) Entry {
	if len(m.Params) == 0 {
		h.num(c, irc.ERR_NOORIGIN, ":No origin specified")
		return Entry{}
	}
	h.say(c, "PONG "+h.config.Name+" :"+m.Param(0))
	return Entry{}
}

func (h *Hall) quit(c *Client, m *irc.Message) Entry {
	why := m.Param(0)
	if c.user == nil && !c.entering {
		h.close(c, "Quit: "+why)
		return Entry{}
	}
	e, ok := h.Ended(c, true, why)
	if !ok {
		return Entry{}
	}
	return e
}
