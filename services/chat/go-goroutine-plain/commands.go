package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	mostRooms  = 100
	mostNick   = 30
	mostRoom   = 50
	mostUser   = 10
	mostTopic  = 300
	toRegister = 30 * time.Second
	toSpeak    = 90 * time.Second
	toAnswer   = 30 * time.Second
	offered    = "echo-message server-time"
)

// command is a command of the protocol. With fewer parameters than it needs it gets 461.
type command struct {
	needs int
	early bool // allowed before registration
	do    func(h *hall, c *client, words []string)
}

var commands = map[string]command{
	"CAP":     {1, true, (*hall).cap},
	"PASS":    {1, true, (*hall).pass},
	"NICK":    {0, true, (*hall).nick},
	"USER":    {4, true, (*hall).user},
	"PING":    {0, true, (*hall).ping},
	"PONG":    {0, true, (*hall).pong},
	"QUIT":    {0, true, (*hall).quit},
	"JOIN":    {1, false, (*hall).join},
	"PART":    {1, false, (*hall).part},
	"PRIVMSG": {0, false, (*hall).privmsg},
	"NOTICE":  {0, false, (*hall).notice},
	"NAMES":   {0, false, (*hall).names},
	"TOPIC":   {1, false, (*hall).topic},
	"WHO":     {1, false, (*hall).who},
}

func (h *hall) obey(c *client, l line) {
	if c.left {
		return
	}
	c.heard = h.now
	if l.verb != "PRIVMSG" && l.verb != "NOTICE" && l.verb != "PING" {
		h.commit()
	}
	command, known := commands[l.verb]
	switch {
	case l.wrong == errNUL:
		h.leave(c, l.wrong.Error(), false)
	case l.wrong != nil:
		h.reply(c, ERR_INPUTTOOLONG, ":"+l.wrong.Error())
	case c.person == nil && !command.early:
		h.reply(c, ERR_NOTREGISTERED, ":You have not registered")
	case !known:
		h.reply(c, ERR_UNKNOWNCOMMAND, l.verb, ":Unknown command")
	case len(l.words) < command.needs:
		h.reply(c, ERR_NEEDMOREPARAMS, l.verb, ":Not enough parameters")
	default:
		command.do(h, c, l.words)
	}
}

func (h *hall) cap(c *client, words []string) {
	answer := ":chat CAP " + orStar(c.nick) + " "
	switch sub := strings.ToUpper(words[0]); sub {
	case "LS":
		c.asking = c.person == nil
		h.put(c, answer+"LS :"+offered+"\r\n")
	case "LIST":
		var has []string
		if c.echo {
			has = append(has, "echo-message")
		}
		if c.time {
			has = append(has, "server-time")
		}
		h.put(c, answer+"LIST :"+strings.Join(has, " ")+"\r\n")
	case "REQ":
		c.asking = c.person == nil
		asked := strings.Join(words[1:], " ")
		echo, stamped := c.echo, c.time
		for _, word := range strings.Fields(asked) {
			name, off := strings.CutPrefix(word, "-")
			switch name {
			case "echo-message":
				echo = !off
			case "server-time":
				stamped = !off
			default:
				h.put(c, cut(answer+"NAK :"+asked))
				return
			}
		}
		c.echo, c.time = echo, stamped
		h.put(c, cut(answer+"ACK :"+asked))
	case "END":
		c.asking = false
		h.register(c)
	default:
		h.reply(c, ERR_INVALIDCAPCMD, words[0], ":Invalid CAP command")
	}
}

func (h *hall) pass(c *client, words []string) {
	if c.person != nil || c.passed {
		h.reply(c, ERR_ALREADYREGISTERED, ":You may not say it again")
		return
	}
	c.password, c.passed = words[0], true
}

func (h *hall) user(c *client, words []string) {
	if c.user != "" {
		h.reply(c, ERR_ALREADYREGISTERED, ":You may not say it again")
		return
	}
	c.user, c.real = words[0][:min(len(words[0]), mostUser)], words[3]
	h.register(c)
}

func (h *hall) nick(c *client, words []string) {
	if len(words) == 0 || words[0] == "" {
		h.reply(c, ERR_NONICKNAMEGIVEN, ":No nickname given")
		return
	}
	name := words[0]
	holder := h.nicks[fold(name)]
	switch {
	case !isNick(name):
		h.reply(c, ERR_ERRONEUSNICKNAME, name, ":Erroneous nickname")
	case holder != nil && holder != c:
		h.reply(c, ERR_NICKNAMEINUSE, name, ":Nickname is already in use")
	case name != c.nick:
		if h.nicks[fold(c.nick)] == c {
			delete(h.nicks, fold(c.nick))
		}
		h.nicks[fold(name)] = c
		c.nick = name
		if c.person == nil {
			h.register(c)
		} else {
			h.rename(c)
		}
	}
}

// rename gives a client another nick, and so makes it another person. The old one stays a member,
// and has received what the client has confirmed.
func (h *hall) rename(c *client) {
	h.put(c, c.prefix+" NICK "+c.nick+"\r\n")
	h.tellNeighbours(c, c.prefix+" NICK "+c.nick)
	before := c.person
	before.client = nil
	h.become(c)
	for _, r := range c.rooms {
		r.members[c.person] = r.members[before]
		h.disk.note(c.nick, r.name, r.members[before])
	}
	c.said = h.disk.written
	h.missed(c, fold(c.nick), c.person.last, c.person.upto)
}

func (h *hall) become(c *client) {
	c.prefix = ":" + c.nick + "!" + c.user + "@" + c.host
	p, known := h.people[fold(c.nick)]
	if !known {
		p = h.meet(c.nick)
		p.upto = h.disk.end
		h.disk.note(c.nick, "*", p.upto)
		c.said = h.disk.written
	}
	p.name, p.client, c.person = c.nick, c, p
}

func (h *hall) register(c *client) {
	if c.person != nil || c.nick == "" || c.user == "" || c.asking {
		return
	}
	password, err := os.ReadFile(filepath.Join(h.disk.dir, "password"))
	first, _, _ := strings.Cut(string(password), "\n")
	if !errors.Is(err, os.ErrNotExist) && (err != nil ||
		strings.TrimSuffix(first, "\r") != c.password) {
		h.reply(c, ERR_PASSWDMISMATCH, ":Password incorrect")
		h.leave(c, "wrong password", false)
		return
	}
	h.become(c)
	h.reply(c, RPL_WELCOME, ":Welcome, "+c.nick)
	h.reply(c, RPL_YOURHOST, ":Your host is chat")
	h.reply(c, RPL_CREATED, ":This server keeps what you have missed")
	h.reply(c, RPL_MYINFO, "chat interleave o o")
	h.reply(c, RPL_ISUPPORT, "CASEMAPPING=ascii CHANTYPES=# NICKLEN="+number(mostNick)+
		" CHANNELLEN="+number(mostRoom)+
		" TOPICLEN="+number(mostTopic)+" :are supported by this server")
	h.reply(c, ERR_NOMOTD, ":There is no message of the day")
	h.missed(c, fold(c.nick), c.person.last, c.person.upto)
}

// missed makes the client's writer read from the log what others have sent there in the meantime.
func (h *hall) missed(c *client, where string, last, upto int64) {
	if last <= upto {
		return
	}
	part, me, stamped := h.disk.section(upto, last), fold(c.nick), c.time
	c.owes = true
	c.queue.put(nil, 0, func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 16<<10)
		err := each(part, func(s said) bool {
			if !isFold(s.where, where) || isFold(s.from, me) || string(s.verb) == "TOPIC" {
				return true
			}
			if stamped {
				_, _ = w.WriteString("@time=") // Flush returns the error
				_, _ = w.Write(s.line)
			} else {
				_, _ = w.Write(s.line[stampLen+1:])
			}
			_, err := w.WriteString("\r\n")
			return err == nil
		})
		return errors.Join(err, w.Flush())
	})
}

func (h *hall) ping(c *client, words []string) {
	if len(words) == 0 {
		h.reply(c, ERR_NOORIGIN, ":No origin specified")
		return
	}
	h.pending = append(h.pending, message{from: c, verb: "PONG", text: cut(":chat PONG chat :" +
		words[0])})
}

func (h *hall) pong(c *client, words []string) {
	if len(words) == 0 || c.person == nil {
		return
	}
	upto, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err == nil && upto <= c.asked {
		h.received(c, upto)
	}
}

func (h *hall) quit(c *client, words []string) {
	h.leave(c, strings.Join(words, " "), true)
}

func (h *hall) join(c *client, words []string) {
	for name := range strings.SplitSeq(words[0], ",") {
		r := h.rooms[fold(name)]
		switch {
		case !isRoom(name):
			h.reply(c, ERR_NOSUCHCHANNEL, name, ":No such channel")
		case r != nil && slices.Contains(c.rooms, r):
		case len(c.rooms) == mostRooms:
			h.reply(c, ERR_TOOMANYCHANNELS, name, ":You have joined too many channels")
		default:
			h.enter(c, h.room(name))
		}
	}
}

func (h *hall) enter(c *client, r *room) {
	r.present = append(r.present, c)
	c.rooms = append(c.rooms, r)
	h.tell(r, c.prefix+" JOIN "+r.name)
	if r.topic != "" {
		h.reply(c, RPL_TOPIC, r.name, ":"+r.topic)
	}
	h.list(c, r)
	upto, member := r.members[c.person]
	if !member {
		r.members[c.person] = h.disk.end
		h.disk.note(c.person.name, r.name, h.disk.end)
		c.said = h.disk.written
	} else {
		h.missed(c, fold(r.name), r.last, upto)
	}
}

// list answers NAMES with the present clients.
func (h *hall) list(c *client, r *room) {
	start := ":chat 353 " + c.nick + " = " + r.name + " :"
	text := start
	for _, p := range r.present {
		if len(text)+len(p.nick)+len("\r\n") > longest {
			h.put(c, strings.TrimSuffix(text, " ")+"\r\n")
			text = start
		}
		text += p.nick + " "
	}
	if text != start {
		h.put(c, strings.TrimSuffix(text, " ")+"\r\n")
	}
	h.reply(c, RPL_ENDOFNAMES, r.name, ":End of NAMES")
}

// in returns the room if the client is in it. Otherwise it answers with the reason.
func (h *hall) in(c *client, name, absent string) *room {
	r := h.rooms[fold(name)]
	switch {
	case r == nil:
		h.reply(c, ERR_NOSUCHCHANNEL, name, ":No such channel")
	case !slices.Contains(c.rooms, r):
		h.reply(c, absent, r.name, ":You are not in that channel")
	default:
		return r
	}
	return nil
}

func (h *hall) part(c *client, words []string) {
	for name := range strings.SplitSeq(words[0], ",") {
		r := h.in(c, name, ERR_NOTONCHANNEL)
		if r == nil {
			continue
		}
		text := c.prefix + " PART " + r.name
		if len(words) > 1 {
			text += " :" + words[1]
		}
		h.tell(r, text)
		r.present, c.rooms = without(r.present, c), without(c.rooms, r)
		delete(r.members, c.person)
		h.disk.note(c.person.name, r.name, -1)
		c.said = h.disk.written
		h.sweep(r)
	}
}

func (h *hall) privmsg(c *client, words []string) { h.message(c, "PRIVMSG", words, h.reply) }

func (h *hall) notice(c *client, words []string) {
	// ^A NOTICE is never answered with an error.
	h.message(c, "NOTICE", words, func(*client, string, ...string) {})
}

func (h *hall) message(c *client, verb string, words []string, fail func(c *client, numeric string,
	words ...string)) {
	switch {
	case len(words) == 0 || words[0] == "":
		fail(c, ERR_NORECIPIENT, ":No recipient given ("+verb+")")
		return
	case len(words) < 2 || words[1] == "":
		fail(c, ERR_NOTEXTTOSEND, ":No text to send")
		return
	}
	for name := range strings.SplitSeq(words[0], ",") {
		s := message{from: c, verb: verb, text: words[1], room: h.rooms[fold(name)],
			to: h.people[fold(name)]}
		switch {
		case strings.HasPrefix(name, "#") && !isRoom(name):
			fail(c, ERR_NOSUCHCHANNEL, name, ":No such channel")
		case strings.HasPrefix(name, "#") && !slices.Contains(c.rooms, s.room):
			fail(c, ERR_CANNOTSENDTOCHAN, name, ":You are not in that channel")
		case s.room == nil && s.to == nil:
			fail(c, ERR_NOSUCHNICK, name, ":No such nick")
		case len(c.prefix)+len(verb)+len(name)+len(words[1])+len("   :\r\n") > longest:
			fail(c, ERR_INPUTTOOLONG, ":"+errLong.Error())
		default:
			h.say(s)
		}
	}
}

func (h *hall) topic(c *client, words []string) {
	r := h.in(c, words[0], ERR_NOTONCHANNEL)
	switch {
	case r == nil:
	case len(words) > 1:
		h.say(message{from: c, verb: "TOPIC", text: words[1][:min(len(words[1]), mostTopic)],
			room: r})
		h.commit()
	case r.topic == "":
		h.reply(c, RPL_NOTOPIC, r.name, ":No topic is set")
	default:
		h.reply(c, RPL_TOPIC, r.name, ":"+r.topic)
	}
}

func (h *hall) names(c *client, words []string) {
	if len(words) == 0 {
		h.reply(c, RPL_ENDOFNAMES, "*", ":End of NAMES")
		return
	}
	for name := range strings.SplitSeq(words[0], ",") {
		if r := h.rooms[fold(name)]; r != nil {
			h.list(c, r)
		} else {
			h.reply(c, RPL_ENDOFNAMES, name, ":End of NAMES")
		}
	}
}

func (h *hall) who(c *client, words []string) {
	where, present := "*", []*client(nil)
	if r := h.rooms[fold(words[0])]; r != nil {
		where, present = r.name, r.present
	} else if p := h.people[fold(words[0])]; p != nil && p.client != nil && !p.client.left {
		present = []*client{p.client}
	}
	for _, p := range present {
		h.reply(c, RPL_WHOREPLY, where, p.user, p.host, "chat", p.nick, "H", ":0 "+p.real)
	}
	h.reply(c, RPL_ENDOFWHO, words[0], ":End of WHO")
}

// cut adds the end of a line, after shortening it to the length limit.
func cut(text string) string {
	return text[:min(len(text), longest-len("\r\n"))] + "\r\n"
}

func orStar(nick string) string {
	if nick == "" {
		return "*"
	}
	return nick
}

func number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

func without[T comparable](all []T, one T) []T {
	if i := slices.Index(all, one); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

func isNick(name string) bool {
	for i := range len(name) {
		b := name[i] | 0x20
		letter := b >= 'a' && b <= 'z' || strings.IndexByte(`[]\^_{|}`+"`", name[i]) >= 0
		if !letter && (i == 0 || name[i] != '-' && (name[i] < '0' || name[i] > '9')) {
			return false
		}
	}
	return len(name) <= mostNick
}

func isRoom(name string) bool {
	for i := range len(name) {
		if name[i] <= ' ' || name[i] == 0x7f || name[i] == ',' || name[i] == ':' {
			return false
		}
	}
	return len(name) > 1 && len(name) <= mostRoom && name[0] == '#'
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		b |= 0x20
	}
	return b
}

// fold makes names comparable: ASCII letters have no case.
func fold(name string) string {
	for i := range len(name) {
		if name[i] != lower(name[i]) {
			folded := []byte(name)
			for i, b := range folded {
				folded[i] = lower(b)
			}
			return string(folded)
		}
	}
	return name
}

func isFold(name []byte, folded string) bool {
	if len(name) != len(folded) {
		return false
	}
	for i, b := range name {
		if lower(b) != folded[i] {
			return false
		}
	}
	return true
}
