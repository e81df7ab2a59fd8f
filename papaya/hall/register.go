package hall

import (
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Line obeys a line of a client that has no entry in the log's queue, or a line that changes
// nothing that others see. The caller must log the entry that it may return. The entry takes effect
// when it comes back from the log.
func (h *Hall) Line(c *Client, m *irc.Message) (Entry, bool) {
	if c.closed {
		return Entry{}, false
	}
	var e Entry
	if c.user != nil && c.gathers(m) {
		e = h.gather(c, m)
	} else {
		h.labelled(c, m.Tags["label"], func() { e = h.obey(c, m) })
		e.Label = m.Tags["label"]
	}
	if e.Kind == 0 {
		return Entry{}, false
	}
	e.Client = c.ID
	return e, true
}

// Logged says whether a line changes what others see, so that it must go through the log.
func (h *Hall) Logged(c *Client, m *irc.Message) bool {
	if c.user == nil || c.gathers(m) {
		return false
	}
	cmd := command(m.Command)
	return cmd != nil && cmd.apply != nil && !cmd.asking(h, c, m) && len(m.Params) >= cmd.words
}

// MayLog says whether obeying a line that is not Logged may give an entry for the log. Lines of a
// client before its registration may, and those of a batch; mere questions do not.
func (h *Hall) MayLog(c *Client, m *irc.Message) bool {
	if c.user == nil || c.gathers(m) {
		return true
	}
	switch m.Command {
	case "PING", "PONG", "NAMES", "WHO", "WHOIS", "WHOWAS", "MONITOR", "LIST", "MOTD", "LUSERS",
		"LINKS", "HELP", "HELPOP", "ISON", "USERHOST", "INFO", "VERSION", "TIME", "CHATHISTORY",
		"SEARCH":
		return false
	}
	return command(m.Command) != nil
}

// Awaited says whether the client gets a reply when the line is logged, so that it may be waiting.
func (h *Hall) Awaited(c *Client, m *irc.Message) bool {
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TAGMSG":
		return c.caps&echoMessage != 0 || c.caps&labeledResponse != 0 && m.Tags["label"] != ""
	}
	return true
}

// obey obeys a line. If the entry that it returns has a Kind, the caller must log it.
func (h *Hall) obey(c *Client, m *irc.Message) Entry {
	cmd := command(m.Command)
	switch {
	case c.user == nil && (cmd == nil || !cmd.unregistered):
		h.num(c, irc.ERR_NOTREGISTERED, ":You have not registered")
	case cmd == nil:
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
	case len(m.Params) < cmd.words:
		if m.Command != "NOTICE" {
			h.num(c, irc.ERR_NEEDMOREPARAMS, m.Command+" :Not enough parameters")
		}
	case c.user == nil || cmd.asking(h, c, m):
		return cmd.ask(h, c, m)
	}
	return Entry{}
}

func (h *Hall) capCommand(c *Client, m *irc.Message) Entry {
	words := strings.Fields(m.Param(1))
	switch strings.ToUpper(m.Param(0)) {
	case "LS":
		c.negotiating = c.user == nil
		_, _ = fmt.Sscan(m.Param(1), &c.version)
		h.tellOffers(c)
	case "LIST":
		h.say(c, "CAP "+c.Nick()+" LIST :"+c.caps.String())
	case "REQ":
		c.negotiating = c.user == nil
		caps, ok := c.caps.change(words, h.withheld(c))
		verb, fresh := "NAK", caps&^c.caps
		if ok {
			c.caps, verb = caps, "ACK"
		}
		h.say(c, "CAP "+c.Nick()+" "+verb+" :"+m.Param(1))
		if c.user != nil && fresh&metadata != 0 {
			h.listFacts(c, c.user.subject())
		}
		h.tellKey(c, fresh)
	case "END":
		c.negotiating = false
		return h.register(c)
	default:
		h.num(c, irc.ERR_INVALIDCAPCMD, m.Param(0)+" :Invalid CAP command")
	}
	return Entry{}
}

// withheld are the capabilities that a client is not offered: those that need accounts and an
// encrypted connection, and where the small protocol holds redaction, since no line of the text is
// ever overwritten there, edits and metadata.
func (h *Hall) withheld(c *Client) (not caps) {
	if h.config.Sign == nil || c.Open {
		not |= sasl | registration
	}
	if !h.full() {
		not |= redaction | edits | metadata
	}
	return not | h.withoutPush() | h.withoutPreviews()
}

// maxOffers is in bytes: how long a line of CAP LS may be without its head.
const maxOffers = 400

// tellOffers answers CAP LS. A client of version 302 gets as many lines as are needed, and any
// other one line.
func (h *Hall) tellOffers(c *Client) {
	head, line := "CAP "+c.Nick()+" LS ", ""
	for _, offer := range append(h.offers(c.version, h.withheld(c)), h.strict(c)...) {
		if c.version >= 302 && len(line)+len(offer) > maxOffers {
			h.say(c, head+"* :"+line[1:])
			line = ""
		}
		line += " " + offer
	}
	h.say(c, head+":"+strings.TrimPrefix(line, " "))
}

// offers lists the capabilities for CAP LS. From version 302 on they have values.
func (h *Hall) offers(version int, withheld caps) []string {
	var out []string
	for _, n := range capNames {
		switch {
		case n.bit&withheld != 0:
		case n.bit == sasl && version >= 302:
			out = append(out, "sasl="+h.mechanisms())
		case n.bit == registration && version >= 302:
			out = append(out, n.name+"=before-connect,custom-account-name")
		case n.bit == metadata && version >= 302:
			out = append(out, n.name+"="+metadataOffer)
		case n.bit == multiline && version >= 302:
			out = append(out, fmt.Sprintf("%s=max-bytes=%d,max-lines=%d", n.name, maxLinesBytes,
				maxLines))
		default:
			out = append(out, n.name)
		}
	}
	return out
}

func (c caps) String() string {
	var out []string
	for _, n := range capNames {
		if c&n.bit != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, " ")
}

// change grants all capabilities of a request, or none.
func (c caps) change(words []string, withheld caps) (caps, bool) {
words:
	for _, w := range words {
		name, off := strings.CutPrefix(w, "-")
		for _, n := range capNames {
			if n.name != name || n.bit&withheld != 0 {
				continue
			}
			if c |= n.bit; off {
				c &^= n.bit
			}
			continue words
		}
		return 0, false
	}
	return c, true
}

func (h *Hall) pass(c *Client, m *irc.Message) Entry {
	if c.user != nil {
		h.num(c, irc.ERR_ALREADYREGISTERED, ":You may not reregister")
		return Entry{}
	}
	word, there := h.config.Password()
	c.password = there && subtle.ConstantTimeCompare([]byte(word), []byte(m.Param(0))) == 1
	return Entry{}
}

func (h *Hall) nickUnregistered(c *Client, m *irc.Message) Entry {
	nick := m.Param(0)
	switch {
	case nick == "":
		h.num(c, irc.ERR_NONICKNAMEGIVEN, ":No nickname given")
	case !mayBeNick(nick):
		h.num(c, irc.ERR_ERRONEUSNICKNAME, middle(nick)+" :Erroneous nickname")
	// A client may log in before CAP END. Its account may have the nick, which is checked then.
	case !(c.negotiating && h.full()) && !h.mayHave(nick, c.account, nil):
		h.num(c, irc.ERR_NICKNAMEINUSE, nick+" :Nickname is already in use")
	case !c.entering:
		c.nick = nick
		return h.register(c)
	}
	return Entry{}
}

// middle returns a word as a parameter that is not the last (RFC 2812, 2.3.1: middle).
func middle(word string) string {
	if word == "" || word[0] == ':' || strings.Contains(word, " ") {
		return "*"
	}
	return word
}

func (h *Hall) userCommand(c *Client, m *irc.Message) Entry {
	if c.user != nil || c.name != "" {
		h.num(c, irc.ERR_ALREADYREGISTERED, ":You may not reregister")
		return Entry{}
	}
	if m.Param(3) == "" {
		h.num(c, irc.ERR_NEEDMOREPARAMS, "USER :The real name is empty")
		return Entry{}
	}
	c.name = userName(m.Param(0))
	c.real = truncate(m.Param(3), maxReal)
	return h.register(c)
}

// userName removes characters that would end the user name in nick!user@host.
func userName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r == '@' || r == '!' || r == ':' || r == 127 {
			return -1
		}
		return r
	}, s)
	if s = truncate(s, irc.MaxUser); s == "" {
		return "user"
	}
	return s
}

// truncate shortens a text to n bytes, but not within a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-4 && i > 0; i-- {
		if s[i]&0xC0 != 0x80 {
			return s[:i]
		}
	}
	return s[:n]
}

// register returns the entry that registers the client, when everything that it needs is there.
func (h *Hall) register(c *Client) Entry {
	if c.user != nil || c.entering || c.nick == "" || c.name == "" || c.negotiating || c.signing {
		return Entry{}
	}
	if _, there := h.config.Password(); there && !c.password && c.account == "" {
		h.num(c, irc.ERR_PASSWDMISMATCH, ":Password incorrect")
		h.close(c, "Password incorrect")
		return Entry{}
	}
	if h.config.Sign != nil && h.config.Sign.Required() && c.account == "" {
		h.fail(c, "*", "ACCOUNT_REQUIRED", "",
			"An account is needed here: log in with its name and password (SASL)")
		h.close(c, "An account is required")
		return Entry{}
	}
	c.entering = true
	secure := "-"
	if c.Secure {
		secure = "+"
	}
	words := strings.Join([]string{c.nick, c.name, c.Host, c.real, c.account, secure}, "\n")
	rights := h.rights(c.account, c.role)
	if len(c.facts) > 0 { // they follow both words of the rights
		rights += strings.Repeat("\n", 2-strings.Count(rights, "\n")) + c.facts.lines()
	}
	return Entry{Kind: Enter, Data: []byte(words + rights)}
}

// rights are the last words of an entry that logs in: the role, and + if the account stays in
// sight, with i if the user is invisible. Words at the end that are empty are left out.
func (h *Hall) rights(account string, role Role) string {
	words := "\n" + role.Letter() + "\n"
	if on := h.config.AlwaysOn; account != "" && on != nil && on() {
		words += "+"
	}
	if on := h.config.Invisible; on != nil && on() {
		words += "i"
	}
	return strings.TrimRight(words, "\n")
}

// enter registers a client: as a guest, or as a session of its account. It is refused if its nick
// is another user's.
func (h *Hall) enter(e Entry) {
	words := strings.Split(string(e.Data), "\n")
	if len(words) < 6 || h.sessions[h.from][e.Client] != nil {
		return
	}
	words = append(words, "", "")
	var c *Client
	if h.from.server == h.config.Server {
		c = h.clients[e.Client] // nil if its connection has ended: its End follows
	}
	s := &session{origin: h.from, id: e.Client, host: words[2], secure: words[5] == "+",
		since: h.now, client: c}
	if h.bannedEnter(c, words) {
		return
	}
	nick, account := words[0], words[4]
	u := h.present(account)
	fresh := u == nil
	switch {
	case !fresh && len(u.sessions) == 0: // the account has stayed, and comes as it likes
		h.dress(u, words[1], words[2], words[3])
		if nick != u.nick && h.claim(nick, account, u) {
			h.changeNick(u, nick)
		}
	case fresh:
		if !h.claim(nick, account, nil) {
			if c != nil {
				c.entering = false
				c.nick = ""
				h.num(c, irc.ERR_NICKNAMEINUSE, nick+" :Nickname is already in use")
			}
			return
		}
		u = h.newUser(account, nick)
		u.name, u.host, u.real = words[1], words[2], words[3]
		h.appear(u, nick)
	}
	if fresh {
		u.invisible = u.invisible || strings.Contains(words[7], "i")
	}
	u.role, u.oper, u.stays = roleOf(words[6]), "", strings.Contains(words[7], "+")
	h.takeFacts(u, words[8:])
	h.attach(u, s)
	if fresh {
		h.came(u)
	}
	if u.lasting() {
		h.makeWay(u)
	}
	h.mostUsers = max(h.mostUsers, len(h.nicks))
	if h.from.server == h.config.Server {
		h.mostHere = max(h.mostHere, len(h.sessions[h.from]))
	}
}

// present returns the user of an account if it is here.
func (h *Hall) present(account string) *user {
	if account == "" || h.old {
		return nil
	}
	h.endApart(irc.Lower(account))
	if u := h.accounts[irc.Lower(account)]; u != nil && h.here(u) {
		return u
	}
	return nil
}

// newUser returns a user that is not here yet: a guest, or that of an account.
func (h *Hall) newUser(account, nick string) *user {
	switch {
	case account == "":
		return &user{}
	case h.old:
		h.aparts++
		return &user{account: account, apart: true}
	}
	u := h.accountUser(account, nick)
	u.account = account // an older version has kept it in lower case
	return u
}

// full says whether replies that are beyond the small protocol (services/chat/README.md) are sent
// unasked. A server without accounts, which `papaya serve --plain` is, sends only that protocol's.
func (h *Hall) full() bool { return h.config.Sign != nil }

func (h *Hall) welcome(c *Client) {
	name := h.config.Name
	h.num(c, irc.RPL_WELCOME, ":Welcome, "+c.user.nick)
	h.num(c, irc.RPL_YOURHOST, ":Your host is "+name+", running papaya "+h.config.Version)
	h.num(c, irc.RPL_CREATED, ":This server was started "+
		h.config.Created.UTC().Format(time.DateTime+" UTC"))
	h.num(c, irc.RPL_MYINFO, name+" papaya-"+h.config.Version+" "+styleLetters+
		"io CIMbeiklmnoqstv Ibekloqv")
	// A line has at most 13 tokens, and some clients read only the first.
	search := ""
	if h.config.Read != nil {
		search = " SEARCH"
	}
	h.num(c, irc.RPL_ISUPPORT,
		fmt.Sprintf("CASEMAPPING=ascii CHANTYPES=# NICKLEN=30 CHANNELLEN=50 TOPICLEN=300 "+
			"NETWORK=%s PREFIX=(ov)@+ CHANMODES=beIq,k,l,"+modeLetters+" "+
			"CHANLIMIT=#:%d MAXTARGETS=%d CHATHISTORY=%d MSGREFTYPES=timestamp,msgid%s :are "+
			"supported by this server",
			h.config.Network, h.config.Rooms, maxTargets, maxHistory, search))
	only := ""
	if h.config.UTF8Only {
		only = " UTF8ONLY"
	}
	if h.full() {
		h.num(c, irc.RPL_ISUPPORT, fmt.Sprintf("ACCOUNTEXTBAN=a BOT=B ELIST=MNU EXCEPTS=e "+
			"EXTBAN=~,am INVEX=I MAXLIST=%s:%d MONITOR=%d STATUSMSG=@+ "+
			"TARGMAX=JOIN:,KICK:,LIST:%d,NOTICE:%d,PART:,PRIVMSG:%d,TAGMSG:%d WHOX%s :are "+
			"supported by this server",
			listLetters, maxLists, maxMonitor, maxTargets, maxTargets, maxTargets, maxTargets,
			only))
	}
	h.fileHost(c)
	h.offerReports(c)
	h.tellKey(c, c.caps)
	h.motd(c)
}

// fileHost says where files are posted to, by both names that clients look for.
func (h *Hall) fileHost(c *Client) {
	if h.config.FileHost == nil {
		return
	}
	if at := h.config.FileHost(); at != "" {
		h.num(c, irc.RPL_ISUPPORT, "draft/FILEHOST="+at+" soju.im/FILEHOST="+at+
			" :are supported by this server")
	}
}

func (h *Hall) motd(c *Client) {
	if len(h.config.MOTD) == 0 {
		h.num(c, irc.ERR_NOMOTD, ":There is no message of the day")
		return
	}
	h.num(c, irc.RPL_MOTDSTART, ":- "+h.config.Name+" -")
	for _, l := range h.config.MOTD {
		h.num(c, irc.RPL_MOTD, ":- "+l)
	}
	h.num(c, irc.RPL_ENDOFMOTD, ":End of MOTD")
}

func (h *Hall) authenticate(c *Client, m *irc.Message) Entry {
	word := m.Param(0)
	switch {
	case c.Open:
		h.num(c, irc.ERR_SASLFAIL, ":SASL authentication failed: passwords need TLS")
	case h.config.Sign == nil: // else a client may log in without having requested sasl
		h.num(c, irc.ERR_SASLFAIL, ":SASL authentication failed")
	case c.signing:
		h.num(c, irc.ERR_SASLFAIL, ":SASL authentication is under way")
	case word == "*":
		c.endSASL()
		h.num(c, irc.ERR_SASLABORTED, ":SASL authentication aborted")
	case c.mechanism == "":
		c.mechanism = strings.ToUpper(word)
		if !slices.Contains(strings.Split(h.mechanisms(), ","), c.mechanism) {
			c.mechanism = ""
			h.num(c, irc.RPL_SASLMECHS, h.mechanisms()+" :are available SASL mechanisms")
			h.num(c, irc.ERR_SASLFAIL, ":SASL authentication failed")
			return Entry{}
		}
		c.write([]byte("AUTHENTICATE +\r\n"))
	default:
		return h.sasl(c, word)
	}
	return Entry{}
}

func (h *Hall) sasl(c *Client, word string) Entry {
	if word != "+" {
		c.sasl += word
	}
	if number := saslError(c, word); number != "" {
		c.endSASL()
		h.num(c, number, ":SASL message too long")
		return Entry{}
	}
	if len(word) == maxPiece {
		return Entry{}
	}
	mechanism, text := c.mechanism, c.sasl
	c.mechanism, c.sasl = "", ""
	switch mechanism {
	case scramSHA256:
		return h.scram(c, text)
	case "EXTERNAL":
		name, err := parseExternal(text)
		if err != nil || c.Fingerprint == "" && !c.Cookie {
			h.num(c, irc.ERR_SASLFAIL, ":SASL authentication failed")
			break
		}
		c.signing = true
		h.config.Sign.External(c, name)
	default:
		name, password, err := parsePlain(text)
		if err != nil {
			h.num(c, irc.ERR_SASLFAIL, ":SASL authentication failed")
			break
		}
		c.signing = true
		h.config.Sign.Plain(c, name, password)
	}
	return Entry{}
}

func (h *Hall) registerCommand(c *Client, m *irc.Message) Entry {
	name := m.Param(0)
	if name == "*" {
		name = c.nick
		if c.user != nil {
			name = c.user.nick
		}
	}
	switch {
	case h.config.Sign == nil:
		h.fail(c, "REGISTER", "TEMPORARILY_UNAVAILABLE", middle(name),
			"This server has no accounts")
	case c.Open:
		h.fail(c, "REGISTER", "TEMPORARILY_UNAVAILABLE", middle(name), "Passwords need TLS")
	case c.signing:
		h.fail(c, "REGISTER", "TEMPORARILY_UNAVAILABLE", middle(name), "One thing at a time")
	case c.user != nil && c.user.account != "":
		h.fail(c, "REGISTER", "ALREADY_AUTHENTICATED", c.user.account, "You are logged in already")
	case !irc.IsNick(name):
		h.fail(c, "REGISTER", "BAD_ACCOUNT_NAME", middle(name),
			"The name of an account must be a valid nick")
	default:
		invitation := m.Param(1)
		if invitation == "*" {
			invitation = ""
		}
		c.signing = true
		h.config.Sign.Register(c, name, m.Param(2), invitation)
	}
	return Entry{}
}

// Signed takes the outcome of a login. why is empty if it has succeeded. The caller must log the
// entry, if there is one.
func (h *Hall) Signed(c *Client, account string, role Role, why string,
	registering bool) (Entry, bool) {
	opering := c.opering
	c.signing, c.opering = false, false
	if c.closed {
		return Entry{}, false
	}
	if opering {
		return h.opered(c, account, role, why)
	}
	e := Entry{}
	switch {
	case why != "" && registering:
		h.fail(c, "REGISTER", "INVALID", "*", why)
	case why != "":
		h.num(c, irc.ERR_SASLFAIL, ":"+why)
	default:
		source := "*"
		if c.user != nil {
			source = c.user.source
		} else {
			c.account, c.role = account, role
		}
		if registering {
			h.say(c, "REGISTER SUCCESS "+account+" :Account created")
		}
		h.num(c, irc.RPL_LOGGEDIN, source+" "+account+" :You are now logged in as "+account)
		if !registering {
			h.num(c, irc.RPL_SASLSUCCESS, ":SASL authentication successful")
		}
		if c.user != nil {
			e = Entry{Kind: Account, Data: []byte(account + h.rights(account, role))}
		}
	}
	if c.user == nil {
		e = h.register(c)
	}
	e.Client = c.ID
	return e, e.Kind != 0
}
