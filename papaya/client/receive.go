package client

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// A line is a line of the server, with its time.
type line struct {
	irc.Message
	time  time.Time
	timed bool // the time is the server's
}

// Last returns the last parameter, or an empty text.
func (l line) Last() string {
	if len(l.Params) == 0 {
		return ""
	}
	return l.Params[len(l.Params)-1]
}

func (l line) nick() string {
	nick, _, _ := irc.SplitMask(l.Source)
	return nick
}

// handlers are the functions for each command. Other numerics go to numeric. init fills the table,
// because some handlers call Receive.
var handlers map[string]func(*Session, line)

func init() {
	ignore := func(*Session, line) {}
	refuse := func(s *Session, l line) { s.tell(Event{Kind: Refused, Why: l.Last()}) }
	handlers = map[string]func(*Session, line){
		"PING":                   func(s *Session, l line) { s.send("PONG", words(l.Last())...) },
		"PONG":                   ignore,
		"ERROR":                  func(s *Session, l line) { s.Why = l.Last() },
		"CAP":                    (*Session).onCap,
		"AUTHENTICATE":           (*Session).onAuthenticate,
		"REGISTER":               (*Session).onRegister,
		irc.RPL_LOGGEDIN:         (*Session).onLoggedIn,
		irc.RPL_SASLSUCCESS:      (*Session).onAuthenticated,
		irc.ERR_NICKLOCKED:       refuse,
		irc.ERR_SASLFAIL:         refuse,
		irc.ERR_SASLTOOLONG:      refuse,
		irc.ERR_SASLABORTED:      refuse,
		irc.RPL_SASLMECHS:        refuse,
		irc.ERR_PASSWDMISMATCH:   refuse,
		irc.ERR_YOUREBANNEDCREEP: refuse,
		irc.RPL_WELCOME: func(s *Session, l line) {
			s.server, s.Nick = l.Source, cmp.Or(l.Param(0), s.Nick)
		},
		irc.RPL_ISUPPORT:  (*Session).onSupport,
		irc.RPL_MOTDSTART: ignore,
		irc.RPL_MOTD: func(s *Session, l line) {
			s.note(s.Status, Happened, l.Last(), l.time)
		},
		irc.RPL_ENDOFMOTD:        func(s *Session, _ line) { s.enter() },
		irc.ERR_NOMOTD:           func(s *Session, _ line) { s.enter() },
		irc.ERR_NONICKNAMEGIVEN:  (*Session).onBadNick,
		irc.ERR_ERRONEUSNICKNAME: (*Session).onBadNick,
		irc.ERR_NICKNAMEINUSE:    (*Session).onBadNick,
		irc.ERR_NICKCOLLISION:    (*Session).onBadNick,
		irc.ERR_UNAVAILRESOURCE:  (*Session).onBadNick,
		"PRIVMSG":                (*Session).onSpoken,
		"NOTICE":                 (*Session).onSpoken,
		"MARKREAD":               (*Session).onMarker,
		"REDACT":                 (*Session).onRedact,
		"TAGMSG":                 (*Session).onTags,
		"JOIN":                   (*Session).onJoin,
		"PART": func(s *Session, l line) {
			s.leave(l.Param(0), l.nick(), "left"+because(l.Param(1)), l.time)
		},
		"KICK": func(s *Session, l line) {
			s.leave(l.Param(0), l.Param(1), "was removed by "+l.nick()+because(l.Param(2)), l.time)
		},
		"RENAME":             (*Session).onRename,
		"CHGHOST":            (*Session).onHost,
		"QUIT":               (*Session).onQuit,
		"NICK":               (*Session).onNick,
		"TOPIC":              (*Session).onTopic,
		irc.RPL_NOTOPIC:      func(s *Session, l line) { s.topic(l.Param(1), "") },
		irc.RPL_TOPIC:        func(s *Session, l line) { s.topic(l.Param(1), l.Param(2)) },
		irc.RPL_TOPICWHOTIME: ignore,
		irc.RPL_CHANNELURL:   ignore,
		irc.RPL_CREATIONTIME: ignore,
		irc.RPL_NAMREPLY:     (*Session).onNames,
		irc.RPL_ENDOFNAMES:   (*Session).onNamesEnd,
		"MODE":               (*Session).onMode,
		irc.RPL_MONONLINE:    (*Session).onOnline,
		irc.RPL_MONOFFLINE:   (*Session).onOffline,
		irc.ERR_MONLISTFULL:  ignore, // the others are not watched
		irc.RPL_USERHOST:     (*Session).onHosts,
		"AWAY":               func(s *Session, l line) { s.onAway(l.nick(), l.Param(0) != "") },
		irc.RPL_AWAY: func(s *Session, l line) {
			s.notePresence(l.Param(1), Away)
			s.Note(s.active, Happened, l.Param(1)+" is away: "+l.Param(2))
		},
		irc.RPL_BANLIST:    (*Session).onMask,
		irc.RPL_EXCEPTLIST: (*Session).onMask,
		irc.RPL_INVEXLIST:  (*Session).onMask,
		irc.RPL_QUIETLIST:  (*Session).onMask,
		irc.RPL_UNAWAY:     func(s *Session, _ line) { s.onAway(s.Nick, false) },
		irc.RPL_NOWAWAY:    func(s *Session, _ line) { s.onAway(s.Nick, true) },
		irc.RPL_WHOREPLY:   (*Session).onWho,
		irc.RPL_ENDOFWHO:   func(s *Session, l line) { delete(s.asking, s.Fold(l.Param(1))) },
		"INVITE":           (*Session).onInvite,
		"BATCH":            (*Session).onBatch,
		"FAIL":             (*Session).onFail,
		"WARN":             func(s *Session, l line) { s.Note(s.active, Happened, l.Last()) },
		"NOTE": func(s *Session, l line) {
			s.Note(s.active, Happened, l.Last()+inRoom(l))
		},
	}
}

// inRoom names the room that a NOTE about a search is about.
func inRoom(l line) string {
	if l.Param(0) != "SEARCH" || len(l.Params) < 4 {
		return ""
	}
	return " in " + l.Param(2)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func (s *Session) onCap(l line) {
	list := strings.Fields(l.Last())
	switch strings.ToUpper(l.Param(1)) {
	case "LS", "NEW":
		for _, w := range list {
			name, value, _ := strings.Cut(w, "=")
			s.offered[name] = value
		}
		if l.Param(2) != "*" { // more lines follow
			s.request()
		}
	case "ACK":
		for _, w := range list {
			name, off := strings.CutPrefix(w, "-")
			s.caps[name] = !off
		}
		s.negotiated()
	case "NAK":
		s.negotiated()
	case "DEL":
		for _, w := range list {
			delete(s.caps, w)
		}
	}
}

func (s *Session) onAuthenticate(l line) {
	if l.Param(0) == "+" {
		s.authenticate()
	}
}

// onRegister: the account was made from the invitation. The session logs in to it.
func (s *Session) onRegister(l line) {
	if l.Param(0) == "SUCCESS" && s.settings.Invitation != "" {
		s.settings.Invitation = ""
		s.negotiated()
	}
}

func (s *Session) onAuthenticated(line) {
	s.authenticated = true
	if s.nickAgain {
		s.nickAgain = false
		s.send("NICK", s.Nick)
	}
	s.negotiated()
}

// prefixes is the form of PREFIX in RPL_ISUPPORT (005): (modes)signs.
var prefixes = regexp.MustCompile(`^\((.*)\)(.*)$`)

func (s *Session) onSupport(l line) {
	for _, w := range l.Params {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "CASEMAPPING":
			s.support.casemapping = value
		case "CHANTYPES":
			s.support.chantypes = value
		case "NETWORK":
			s.support.network = value
		case "SEARCH":
			s.support.search = true
		case "BOT":
			s.support.bot = value
		case "MONITOR":
			s.support.monitor = parseMonitor(value)
		case "draft/FILEHOST", "soju.im/FILEHOST":
			s.support.filehost = value
		case "CHATHISTORY", "draft/CHATHISTORY":
			s.support.history, _ = strconv.Atoi(value) // an invalid number means no limit
		case "PREFIX":
			if m := prefixes.FindStringSubmatch(value); m != nil {
				s.support.prefixModes, s.support.prefixes = m[1], m[2]
			}
		}
	}
}

func (s *Session) onBadNick(l line) {
	why := s.Nick + ": " + l.Last()
	switch {
	case s.state == registering && s.settings.Account != "" && !s.authenticated:
		s.nickAgain = true // it may be our own, once we have logged in
	case s.state == ready:
		s.Note(s.active, Wrong, l.Param(1)+": "+l.Last())
	case s.registered: // our old connection, which the server will soon end
		s.tell(Event{Kind: Retry, Why: why})
	default:
		s.tell(Event{Kind: Refused, Why: why})
	}
}

func (s *Session) onJoin(l line) {
	name, nick := l.Param(0), l.nick()
	if name == "" {
		return
	}
	if !s.IsMe(nick) {
		if r := s.Find(name); r != nil {
			r.Members[s.Fold(nick)] = l.member()
			s.note(r, Happened, nick+" joined", l.time)
		}
		return
	}
	r := s.Open(name)
	r.Members[s.Fold(nick)] = l.member()
	s.source = l.Source
	r.Joined, r.Name = true, name
	if !s.wanted(name) {
		s.wants[name] = ""
	}
	s.CatchUp(r)
	s.asking[s.Fold(name)] = true
	s.send("WHO", name)
	s.tell(Event{Kind: Entered, Room: r})
}

func (s *Session) wanted(name string) bool {
	for w := range s.wants {
		if s.Fold(w) == s.Fold(name) {
			return true
		}
	}
	return false
}

func (s *Session) leave(name, nick, what string, at time.Time) {
	r := s.Find(name)
	if r == nil {
		return
	}
	delete(r.Members, s.Fold(nick))
	if !s.IsMe(nick) {
		s.note(r, Happened, nick+" "+what, at)
		return
	}
	r.Joined = false
	clear(r.Members)
	s.unwant(name)
	if after, ok := strings.CutPrefix(what, "was"); ok {
		what = "were" + after
	}
	s.note(r, Happened, "you "+what, at)
}

func (s *Session) onQuit(l line) {
	nick := l.nick()
	for _, r := range s.rooms {
		if _, here := r.Members[s.Fold(nick)]; here && !s.IsMe(nick) {
			delete(r.Members, s.Fold(nick))
			s.note(r, Happened, nick+" left"+because(l.Param(0)), l.time)
		}
	}
}

func (s *Session) onNick(l line) {
	from, to := l.nick(), l.Param(0)
	if to == "" {
		return
	}
	if s.IsMe(from) {
		s.Nick = to
	}
	for _, r := range s.rooms {
		m, here := r.Members[s.Fold(from)]
		if !here {
			continue
		}
		delete(r.Members, s.Fold(from))
		m.Nick = to
		r.Members[s.Fold(to)] = m
		s.note(r, Happened, from+" is now "+to, l.time)
	}
	if talk := s.Find(from); talk != nil && !talk.Channel && s.Find(to) == nil {
		delete(s.rooms, s.Fold(from))
		talk.Name = to
		s.rooms[s.Fold(to)] = talk
		s.unwatch(from)
		s.watch(to)
		s.askMarker(talk)
	}
}

// onHost takes our own host, which counts for the length of our lines.
func (s *Session) onHost(l line) {
	if s.IsMe(l.nick()) && len(l.Params) == 2 {
		s.source = s.Nick + "!" + l.Param(0) + "@" + l.Param(1)
	}
}

func (s *Session) topic(name, text string) {
	if r := s.Find(name); r != nil {
		r.Topic = text
	}
}

func (s *Session) onTopic(l line) {
	r := s.Find(l.Param(0))
	if r == nil {
		return
	}
	r.Topic = l.Param(1)
	what := " cleared the topic"
	if r.Topic != "" {
		what = " set the topic: " + r.Topic
	}
	s.note(r, Happened, l.nick()+what, l.time)
}

func (s *Session) onNames(l line) {
	r := s.Find(l.Param(2))
	if r == nil {
		return
	}
	if r.naming == nil {
		r.naming = map[string]Member{}
	}
	for _, w := range strings.Fields(l.Param(3)) {
		full := strings.TrimLeft(w, s.support.prefixes)
		nick, _, _ := irc.SplitMask(full)
		m := r.Members[s.Fold(nick)]
		m.Nick, m.Prefix = nick, cut(w[:len(w)-len(full)], 1)
		r.naming[s.Fold(nick)] = m
	}
}

func (s *Session) onNamesEnd(l line) {
	if r := s.Find(l.Param(1)); r != nil && r.naming != nil {
		r.Members, r.naming = r.naming, nil
	}
}

func (s *Session) onMode(l line) {
	r := s.Find(l.Param(0))
	if r == nil || len(l.Params) < 2 {
		return
	}
	s.note(r, Happened, l.nick()+" set "+strings.Join(l.Params[1:], " "), l.time)
	if strings.ContainsAny(l.Param(1), s.support.prefixModes) {
		s.send("NAMES", r.Name)
	}
}

func (s *Session) onAway(nick string, away bool) {
	if s.IsMe(nick) {
		s.Away = away
	}
	s.notePresence(nick, map[bool]Presence{true: Away, false: Here}[away])
	for _, r := range s.rooms {
		if m, here := r.Members[s.Fold(nick)]; here {
			m.Away = away
			r.Members[s.Fold(nick)] = m
		}
	}
}

func (s *Session) onWho(l line) {
	if r := s.Find(l.Param(1)); r != nil {
		if m, here := r.Members[s.Fold(l.Param(5))]; here {
			m.Away = strings.HasPrefix(l.Param(6), "G") // gone; H is here
			m.Host = l.Param(3)
			m.Bot = s.support.bot != "" && strings.Contains(l.Param(6), s.support.bot)
			r.Members[s.Fold(l.Param(5))] = m
		}
	}
	if !s.asking[s.Fold(l.Param(1))] {
		s.numeric(l)
	}
}

func (s *Session) onInvite(l line) {
	if s.IsMe(l.Param(0)) {
		s.Note(s.active, Happened, fmt.Sprintf("%s invites you to %s: /join %s", l.nick(),
			l.Param(1), l.Param(1)))
	}
}

func (s *Session) onFail(l line) {
	var room *Room
	for _, p := range l.Params[min(2, len(l.Params)):] {
		if r := s.Find(p); r != nil {
			room = r
		}
	}
	if l.Param(0) == "CHATHISTORY" {
		s.missed(room)
		return
	}
	if !s.registered {
		s.tell(Event{Kind: Refused, Why: l.Last()})
		return
	}
	if l.Param(0) == "JOIN" && l.Param(1) == "CHANNEL_RENAMED" {
		s.onRenamed(l)
		return
	}
	switch l.Param(0) {
	case "MARKREAD":
		s.markerRefused(room)
		return
	case "SEARCH":
		s.found(nil)
		if l.Param(1) == "INVALID_TARGET" {
			return // one of many rooms that may not be searched, such as a guest's conversations
		}
	case "REDACT":
	default:
		if !s.refusedEdit(l.Tags["label"]) {
			s.failed(l.Tags["label"], room)
		}
	}
	s.Note(orElse(room, s.active), Wrong, fmt.Sprintf("%s (%s)", l.Last(), l.Param(1)))
}

// numeric shows a numeric without a handler in the room that it names, or in the room that the user
// looks at.
func (s *Session) numeric(l line) {
	code, _ := strconv.Atoi(l.Command) // Receive has checked that it has three digits
	room := s.Find(l.Param(1))
	text := strings.Join(l.Params[min(1, len(l.Params)):], " ")
	switch {
	// before registration, or a subcommand of CAP that the server does not know
	case code == 451 || code == 410:
	case code == 421 && slices.Contains([]string{"CAP", "WHO", "CHATHISTORY"}, l.Param(1)):
	case code >= 400:
		if l.Param(1) == "SEARCH" {
			s.found(nil)
		}
		if !s.refusedEdit(l.Tags["label"]) {
			s.failed(l.Tags["label"], room)
		}
		if room != nil && room.Channel && !room.Joined {
			delete(s.wants, room.Name)
		}
		s.Note(orElse(room, s.active), Wrong, text)
	case code < 5, code >= 250 && code <= 266:
		s.Note(s.Status, Happened, text)
	default:
		s.Note(s.active, Answer, text)
	}
}

func orElse(r, other *Room) *Room {
	if r == nil {
		return other
	}
	return r
}

// onLoggedIn takes the name of the account, which may be another one than before: the account may
// have been renamed.
func (s *Session) onLoggedIn(l line) {
	if name := l.Param(2); s.settings.Account != "" && name != "" {
		s.settings.Account = name
	}
}
