package hall

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"interleave/papaya/irc"
)

// Devices are notified of messages that an account misses (draft/webpush of IRCv3). The hall says
// which messages these are: a message to the account, or one in a room of it that has its name or
// its nick as a word, while no session of it is attended. Config.Push does the rest.

// attention is how long a session counts as attended after its user has said something or has moved
// a read marker, in milliseconds. A session that is away is not attended. A guess.
const attention = int64(2 * time.Minute / time.Millisecond)

// A Notice is a message that an account may miss.
type Notice struct {
	Account string // folded
	Nick    string // of the account
	Target  string // folded: the room, or the nick of who has said it
	Room    bool   // it is in a room, else it was said to the account alone
	// Head is the line up to its text, with the tags time, msgid and account.
	Head   string
	Text   string
	At     uint64 // its offset in the text, which names it
	Time   int64  // milliseconds since 1970
	Online bool   // a session is connected, and may still read it
}

// A Notifier is told what accounts miss. The goroutine that owns the hall calls it, so it must not
// block. Names are folded.
type Notifier interface {
	// Wants says whether an account has devices to notify.
	Wants(account string) bool
	// Missed is called on the server that has logged the message.
	Missed(n Notice)
	// Seen says that an account has read a room or its conversation with a nick, up to a time in
	// milliseconds since 1970.
	Seen(account, target string, until int64)
	// Removed says that the message at an offset was removed from the text.
	Removed(at uint64)
}

// Push keeps the devices of accounts, and notifies them. The answer to a request comes later: by
// Hall.Pushed, or by Hall.Served for List, Add and Remove.
type Push interface {
	Notifier
	Key() string // the server's public key (VAPID), in base64url
	Request(c *Client, r *PushRequest)
	List(c *Client)
	Add(c *Client, topic, token string) // a URL of ntfy; the token may be empty
	Remove(c *Client, id string)
}

// A PushRequest is a WEBPUSH of a client.
type PushRequest struct {
	Verb     string // REGISTER or UNREGISTER
	Endpoint string
	Keys     string // for REGISTER
	label    string
}

// webPush answers WEBPUSH, or asks Config.Push. Further lines of the client wait for the answer.
func (h *Hall) webPush(c *Client, m *irc.Message) Entry {
	if h.config.Push == nil {
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
		return Entry{}
	}
	r := &PushRequest{Verb: strings.ToUpper(m.Param(0)), Endpoint: m.Param(1), Keys: m.Param(2),
		label: m.Tags["label"]}
	want := map[string]int{"REGISTER": 3, "UNREGISTER": 2}[r.Verb]
	switch {
	case want == 0 || len(m.Params) != want:
		h.failPush(c, r, "INVALID_PARAMS", "It is WEBPUSH REGISTER endpoint keys, or UNREGISTER "+
			"endpoint")
	case !c.user.lasting():
		h.failPush(c, r, "ACCOUNT_REQUIRED", "Notifications need an account")
	default:
		c.signing, c.later = true, true
		h.config.Push.Request(c, r)
	}
	return Entry{}
}

func (h *Hall) failPush(c *Client, r *PushRequest, code, why string) {
	h.fail(c, "WEBPUSH", code, middle(r.Verb)+" "+middle(r.Endpoint), why)
}

// Pushed answers a WEBPUSH. code is that of FAIL; it is empty if the request was done.
func (h *Hall) Pushed(c *Client, r *PushRequest, code, why string) {
	c.signing = false
	if c.closed {
		return
	}
	h.labelled(c, r.label, func() {
		if code != "" {
			h.failPush(c, r, code, why)
			return
		}
		h.say(c, "WEBPUSH "+r.Verb+" "+r.Endpoint)
	})
}

// withoutPush are the capabilities that a server which notifies no devices does not offer.
func (h *Hall) withoutPush() caps {
	if h.config.Push == nil {
		return webPush | sojuWebPush
	}
	return 0
}

// tellKey tells a client that has registered the server's key for notifications, if it knows what
// that is by the capabilities that it has requested now.
func (h *Hall) tellKey(c *Client, fresh caps) {
	if c.user != nil && fresh&(webPush|sojuWebPush) != 0 {
		h.num(c, irc.RPL_ISUPPORT, "VAPID="+h.config.Push.Key()+
			" :are supported by this server")
	}
}

// ownPush lists the devices of an account, ends the notification of one, or has a topic of ntfy
// notified.
func (h *Hall) ownPush(c *Client, words []string) Entry {
	verb, p := strings.ToUpper(words[0]), h.config.Push
	switch {
	case p == nil:
		h.served(c, "This server does not notify devices.")
	case verb == "LIST":
		c.signing = true
		p.List(c)
	case verb == "DEL" && len(words) > 1:
		c.signing = true
		p.Remove(c, words[1])
	case verb != "ADD" || len(words) == 1:
		h.served(c, "It is NS PUSH LIST, NS PUSH ADD URL [TOKEN] or NS PUSH DEL ID")
	case c.Open:
		h.served(c, "Topics and tokens need TLS.") // both are secrets
	case !c.user.lasting():
		h.served(c, "Notifications need an account that stays when its clients have gone.")
	default:
		c.signing = true
		p.Add(c, words[1], append(words, "")[2])
	}
	return Entry{}
}

// attended says whether somebody is using the chat in a session of a user.
func (h *Hall) attended(u *user) bool {
	return slices.ContainsFunc(u.sessions, func(s *session) bool {
		return s.away == "" && s.acted != 0 && h.now-s.acted < attention
	})
}

// seen says that a user has read a room or a conversation, up to a time. A notice from before the
// room was renamed has its former name.
func (h *Hall) seen(u *user, target string, until int64) {
	p, account, folded := h.config.Push, irc.Lower(u.account), irc.Lower(target)
	if p == nil || !u.lasting() || !p.Wants(account) {
		return
	}
	p.Seen(account, folded, until)
	if r := h.rooms[folded]; r != nil {
		for _, t := range r.former {
			if h.rooms[t.nick] == nil {
				p.Seen(account, t.nick, until)
			}
		}
	}
}

// notifyRoom notifies the members of a room that a message names, here or not. o is the message.
func (h *Hall) notifyRoom(r *room, from *user, it speech, o *out) {
	if h.config.Push == nil || h.from.server != h.config.Server {
		return
	}
	var told []*user
	name := func(word string) {
		u := h.holder(irc.Lower(word))
		if u == nil || u == from || slices.Contains(told, u) || len(told) == maxTargets {
			return
		}
		if _, away := r.absent[u.key()]; away || u.in(r) != nil {
			told = append(told, u)
			h.notify(u, r.name, from, it, o)
		}
	}
	for _, text := range it.texts() {
		for word := range strings.FieldsFuncSeq(text, betweenNames) {
			name(word)
		}
	}
}

// betweenNames says whether a character separates the words among which a nick is looked for.
func betweenNames(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_-[]\\`^{|}", r)
}

// texts returns all lines of what was said.
func (it speech) texts() []string {
	all := []string{it.text}
	for _, l := range it.more {
		all = append(all, l.text)
	}
	return all
}

// notify tells Config.Push of a message in a room or to a user, unless the user attends to the
// chat. What is for programs (CTCP) is left out.
func (h *Hall) notify(u *user, target string, from *user, it speech, o *out) {
	p := h.config.Push
	if p == nil || h.from.server != h.config.Server || u == from || !u.lasting() ||
		!p.Wants(irc.Lower(u.account)) || h.attended(u) ||
		it.text != "" && it.text[0] == 1 && !strings.HasPrefix(it.text, "\x01ACTION ") {
		return
	}
	if _, banned := h.bannedAccount(u.account); banned {
		return
	}
	n := Notice{Account: irc.Lower(u.account), Nick: u.nick, Target: irc.Lower(target),
		Room: target[0] == '#', At: o.at, Time: o.time, Online: len(u.sessions) > 0}
	if !n.Room {
		n.Target = irc.Lower(from.nick)
	}
	for _, n.Text = range it.texts() { // a message of several lines is cut
		if n.Text != "" {
			break
		}
	}
	bare := out{account: o.account, ids: o.ids, at: o.at, time: o.time}
	n.Head = string(bare.head(nil, serverTime|messageTags|accountTag, true)) + ":" + from.source +
		" " + it.command + " " + target + " :"
	p.Missed(n)
}
