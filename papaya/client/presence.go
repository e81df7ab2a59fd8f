package client

import (
	"regexp"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// A Presence says whether somebody is here.
type Presence string

// The kinds of presence, in words for the user.
const (
	Unknown Presence = ""
	Here    Presence = "here"
	Away    Presence = "away"
	Offline Presence = "offline"
)

// Nicks that one line may have: bytes for MONITOR (a guess), and nicks for USERHOST (RFC 2812
// section 4.8).
const (
	monitorBytes = 400
	userhosts    = 5
)

// noMonitor is the number of nicks that a server without MONITOR watches.
const noMonitor = -1

// Presence returns whether the partner of a conversation is here. Where the server does not tell
// it, the rooms that both share do.
func (s *Session) Presence(r *Room) Presence {
	name := s.Fold(r.Name)
	if r.Channel || r == s.Status {
		return Unknown
	}
	if told := s.watched[name]; told != Unknown {
		return told
	}
	for _, other := range s.rooms {
		if m, here := other.Members[name]; here && m.Away {
			return Away
		} else if here {
			return Here
		}
	}
	return Unknown
}

// watch has the server tell of nicks (MONITOR of IRCv3), as many as it watches.
func (s *Session) watch(nicks ...string) {
	if s.support.monitor == noMonitor || s.state != ready {
		return
	}
	line := ""
	send := func() {
		if line != "" {
			s.send("MONITOR", "+", line[1:])
		}
		line = ""
	}
	for _, nick := range nicks {
		name := s.Fold(nick)
		_, watched := s.watched[name]
		switch full := s.support.monitor > 0 && len(s.watched) >= s.support.monitor; {
		case watched, full, nick == "", s.IsMe(nick), strings.ContainsAny(nick, " ,:*?"):
			continue
		}
		s.watched[name] = Unknown
		if line += "," + nick; len(line) > monitorBytes {
			send()
		}
	}
	send()
}

// watchAll watches those of all conversations.
func (s *Session) watchAll() {
	for _, r := range s.Rooms() {
		if !r.Channel {
			s.watch(r.Name)
		}
	}
}

// unwatch ends that.
func (s *Session) unwatch(nick string) {
	if _, watched := s.watched[s.Fold(nick)]; watched {
		delete(s.watched, s.Fold(nick))
		s.send("MONITOR", "-", nick)
	}
}

// notePresence notes how somebody is who is watched.
func (s *Session) notePresence(nick string, p Presence) {
	if _, watched := s.watched[s.Fold(nick)]; watched {
		s.watched[s.Fold(nick)] = p
	}
}

// onOnline: these are here, or have come. The session asks who of them is away.
func (s *Session) onOnline(l line) {
	var nicks []string
	for source := range strings.SplitSeq(l.Last(), ",") {
		nick, _, _ := irc.SplitMask(source)
		if _, watched := s.watched[s.Fold(nick)]; watched {
			s.notePresence(nick, Here)
			nicks = append(nicks, nick)
		}
	}
	for len(nicks) > 0 {
		n := min(len(nicks), userhosts)
		s.send("USERHOST", nicks[:n:n]...)
		s.hosts++
		nicks = nicks[n:]
	}
}

// onOffline: these are not here, or have gone.
func (s *Session) onOffline(l line) {
	for nick := range strings.SplitSeq(l.Last(), ",") {
		s.notePresence(nick, Offline)
	}
}

// hostWord is one word of the answer to USERHOST: nick=+user@host, with - in the place of + for a
// user who is away, and * behind the nick of an operator.
var hostWord = regexp.MustCompile(`^([^=*]+)\*?=([+-])`)

func (s *Session) onHosts(l line) {
	for _, word := range strings.Fields(l.Last()) {
		if m := hostWord.FindStringSubmatch(word); m != nil {
			s.notePresence(m[1], map[string]Presence{"+": Here, "-": Away}[m[2]])
		}
	}
	if s.hosts == 0 {
		s.numeric(l) // the user has asked
		return
	}
	s.hosts--
}

// parseMonitor parses the value of MONITOR in RPL_ISUPPORT (005): 0 is any number.
func parseMonitor(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
