package hall

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// An account looks after itself by NS, or by messages to NickServ, as users of other networks know
// it. The answers are notices of NickServ. What needs the accounts' book is asked of Config.Own,
// and answered later. Neither the line nor the answer is logged, since both may be secrets.

// Own does what accounts ask for themselves. The answer comes later, by Hall.Served.
type Own interface {
	Password(c *Client, old, new string)
	Certificates(c *Client)
	AddCertificate(c *Client, fingerprint, password string)
	RemoveCertificate(c *Client, fingerprint string)
	Rename(c *Client, name, password string)
	Tokens(c *Client)
	AddToken(c *Client, name, password string, stays bool)
	EndTokens(c *Client, which string)
	Files(c *Client)
	RemoveFile(c *Client, id string)
}

// An ownCommand is one that NickServ understands.
type ownCommand struct {
	name, words, what string
	least             int
	secret            bool // it has a password or a token, which needs TLS
	do                func(h *Hall, c *Client, words []string) Entry
}

// ownCommands are in the order of HELP. init fills them, since HELP refers to them.
var ownCommands []ownCommand

func init() {
	ownCommands = []ownCommand{
		{"HELP", "", "lists the commands", 0, false, (*Hall).ownHelp},
		{"IDENTIFY", "[NAME] PASSWORD", "logs in; SASL does it before others see you", 1, true,
			(*Hall).identify},
		{"PASSWD", "OLD NEW [NEW]", "changes your password", 2, true, (*Hall).ownPassword},
		{"SESSIONS", "", "lists the connections of your account", 0, false, (*Hall).ownSessions},
		{"LOGOUT", "ID|OTHERS|ALL", "ends connections of your account", 1, false,
			(*Hall).ownLogout},
		{"CERT", "LIST|ADD [SHA256 [PASSWORD]]|DEL SHA256", "your certificates; ADD alone adds " +
			"the one that you use", 1, false, (*Hall).ownCertificate},
		{"TOKEN", tokenWords, "tokens of devices that stay signed in, and of programs", 1, true,
			(*Hall).ownToken},
		{"RENAME", "NAME [PASSWORD]", "gives your account another name", 1, false,
			(*Hall).ownRename},
		{"PUSH", "LIST|ADD URL [TOKEN]|DEL ID", "your devices that are notified; ADD has a topic " +
			"of ntfy notified", 1, false, (*Hall).ownPush},
		{"FILE", "LIST|DEL ID", "the files that you have sent, and what is left of your limit", 1,
			false, (*Hall).ownFiles},
	}
}

// nickServ is who answers.
const nickServ = "NickServ"

// nickServed obeys NS and NICKSERV.
func (h *Hall) nickServed(c *Client, m *irc.Message) Entry {
	if !h.full() {
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
		return Entry{}
	}
	return h.serve(c, strings.Join(m.Params, " "))
}

// serve obeys what a client says to NickServ.
func (h *Hall) serve(c *Client, text string) Entry {
	words, err := splitQuoted(text)
	if err != nil {
		h.served(c, err.Error())
		return Entry{}
	}
	if len(words) == 0 {
		words = []string{"HELP"}
	}
	if strings.EqualFold(words[0], "CLIENTS") { // as other services name it
		words = append([]string{"SESSIONS"}, words[1:]...)
		if len(words) > 1 && strings.EqualFold(words[1], "LOGOUT") {
			words = words[1:]
		}
	}
	i := slices.IndexFunc(ownCommands,
		func(o ownCommand) bool { return strings.EqualFold(o.name, words[0]) })
	if i < 0 {
		h.served(c, "There is no such command. NS HELP lists them.")
		return Entry{}
	}
	o := &ownCommands[i]
	switch {
	case len(words)-1 < o.least:
		h.served(c, "It is NS "+o.name+" "+o.words)
	case o.secret && c.Open:
		h.served(c, "Passwords need TLS.")
	case o.name != "HELP" && o.name != "IDENTIFY" && c.user.account == "":
		h.served(c, "You are not logged in to an account.")
	case c.signing:
		h.served(c, "One thing at a time.")
	default:
		return o.do(h, c, words[1:])
	}
	return Entry{}
}

// served sends a notice of NickServ.
func (h *Hall) served(c *Client, text string) { h.noticeOf(c, nickServ, text) }

// Served takes the answer to a call of Config.Own.
func (h *Hall) Served(c *Client, lines []string) {
	c.signing = false
	if c.closed {
		return
	}
	for _, l := range lines {
		h.served(c, l)
	}
}

// ask asks Config.Own. Further lines of the client wait for the answer.
func (h *Hall) ask(c *Client, question func(o Own)) Entry {
	if h.config.Own == nil {
		h.served(c, "This server does not let accounts do that.")
		return Entry{}
	}
	c.signing = true
	question(h.config.Own)
	return Entry{}
}

func (h *Hall) ownHelp(c *Client, _ []string) Entry {
	for _, o := range ownCommands {
		h.served(c, fmt.Sprintf("NS %s: %s", strings.TrimSpace(o.name+" "+o.words), o.what))
	}
	h.served(c, `Quote a password with blanks: NS PASSWD "my old one" "my new one"`)
	return Entry{}
}

func (h *Hall) identify(c *Client, words []string) Entry {
	if c.user.account != "" {
		h.served(c, "You are logged in as "+c.user.account+" already.")
		return Entry{}
	}
	name := c.user.nick
	if len(words) > 1 {
		name = words[0]
	}
	c.signing = true
	h.config.Sign.Plain(c, name, words[len(words)-1])
	return Entry{}
}

func (h *Hall) ownPassword(c *Client, words []string) Entry {
	if len(words) > 2 && words[2] != words[1] {
		h.served(c, "The two new passwords are not the same.")
		return Entry{}
	}
	return h.ask(c, func(o Own) { o.Password(c, words[0], words[1]) })
}

func (h *Hall) ownCertificate(c *Client, words []string) Entry {
	verb, print, password := strings.ToUpper(words[0]), c.Fingerprint, append(words, "", "")[2]
	if len(words) > 1 {
		print = words[1]
	}
	switch {
	case verb == "LIST":
		return h.ask(c, func(o Own) { o.Certificates(c) })
	case verb == "ADD" && print == "":
		h.served(c, "You have connected without a certificate: name its SHA-256.")
	case verb == "ADD":
		return h.ask(c, func(o Own) { o.AddCertificate(c, print, password) })
	case verb == "DEL" && len(words) > 1:
		return h.ask(c, func(o Own) { o.RemoveCertificate(c, print) })
	default:
		h.served(c, "It is NS CERT LIST, NS CERT ADD [SHA256 [PASSWORD]] or NS CERT DEL SHA256")
	}
	return Entry{}
}

// ownFiles lists the files that an account has sent, or deletes one.
func (h *Hall) ownFiles(c *Client, words []string) Entry {
	switch verb := strings.ToUpper(words[0]); {
	case verb == "LIST":
		return h.ask(c, func(o Own) { o.Files(c) })
	case verb == "DEL" && len(words) > 1:
		return h.ask(c, func(o Own) { o.RemoveFile(c, words[1]) })
	}
	h.served(c, "It is NS FILE LIST or NS FILE DEL ID")
	return Entry{}
}

func (h *Hall) ownRename(c *Client, words []string) Entry {
	if !mayBeNick(words[0]) {
		h.served(c, "The name of an account must be a valid nick.")
		return Entry{}
	}
	words = append(words, "") // the password may be left out
	return h.ask(c, func(o Own) { o.Rename(c, words[0], words[1]) })
}

// ownSessions lists the sessions of an account in a form that programs can read, too: the word
// session, its name, and further words.
func (h *Hall) ownSessions(c *Client, _ []string) Entry {
	for _, s := range c.user.sessions {
		how, here := "plain", ""
		if s.secure {
			how = "tls"
		}
		if s == c.session {
			here = " here"
		}
		h.served(c, fmt.Sprintf("session %s from=%s since=%s server=%s %s%s", c.user.nameOf(s),
			s.from(), when(s.since), s.origin.server, how, here))
	}
	return Entry{}
}

// nameOf returns the name of a session among those of its user: its number on its server, and the
// server where that is not enough.
func (u *user) nameOf(s *session) string {
	name := strconv.FormatUint(s.id, 10)
	if slices.ContainsFunc(u.sessions, func(o *session) bool { return o != s && o.id == s.id }) {
		name += "@" + s.origin.server
	}
	return name
}

// ownLogout ends sessions of the client's account. The entry names them by server, run and number,
// so that all servers end the same ones.
func (h *Hall) ownLogout(c *Client, words []string) Entry {
	var data []string
	for _, s := range c.user.sessions {
		all := strings.EqualFold(words[0], "ALL")
		others := strings.EqualFold(words[0], "OTHERS") && s != c.session
		if all || others || c.user.nameOf(s) == words[0] {
			data = append(data, fmt.Sprintf("%s %d %d", s.origin.server, s.origin.run, s.id))
		}
	}
	if len(data) == 0 {
		h.served(c, "There is no such connection. NS SESSIONS lists them.")
		return Entry{}
	}
	h.served(c, fmt.Sprintf("%d ended.", len(data)))
	return Entry{Kind: Logout, Data: []byte(strings.Join(data, "\n"))}
}

// logout ends sessions that another one of the same account has named.
func (h *Hall) logout(u *user, data string) {
	for l := range strings.SplitSeq(data, "\n") {
		var o origin
		var id uint64
		if _, err := fmt.Sscanf(l, "%s %d %d", &o.server, &o.run, &id); err != nil {
			continue
		}
		if s := h.sessions[o][id]; s != nil && s.user == u {
			h.hangUp(s, "Ended by "+u.nick)
		}
	}
}

var errQuotes = errors.New(`a quote is missing: words may be "quoted like this", with \" and \\`)

// splitQuoted splits a text at blanks. A word may be in double quotes and so have blanks. Within
// quotes, a backslash makes the next character mean itself.
func splitQuoted(text string) ([]string, error) {
	var words []string
	for {
		text = strings.TrimLeft(text, " ")
		if text == "" {
			return words, nil
		}
		if text[0] != '"' {
			word, rest, _ := strings.Cut(text, " ")
			words, text = append(words, word), rest
			continue
		}
		var word []byte
		i := 1
		for ; i < len(text) && text[i] != '"'; i++ {
			if text[i] == '\\' && i+1 < len(text) {
				i++
			}
			word = append(word, text[i])
		}
		if i >= len(text) || i+1 < len(text) && text[i+1] != ' ' {
			return nil, errQuotes
		}
		words, text = append(words, string(word)), text[i+1:]
	}
}
