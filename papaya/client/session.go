// Package client is a session with a chat server. It registers, joins rooms, and comes back after a
// lost connection without a gap in the history. Session is pure: lines go in, lines and events come
// out. Conn does the I/O.
package client

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// wanted are the capabilities that a session uses. It needs none of them.
var wanted = []string{
	"message-tags", "server-time", "batch", "echo-message", "labeled-response", "draft/chathistory",
	"chathistory", "papaya/missed", "draft/message-redaction", editCap, multilineCap,
	"draft/event-playback",
	markerCap, "draft/channel-rename",
	"away-notify", "extended-monitor", "multi-prefix", "cap-notify", "standard-replies",
	"invite-notify", "setname", "chghost",
}

// pageLength is how many messages are requested at once. A server may lower it by CHATHISTORY=n.
const pageLength = 100

// recent is how far back a new device looks for conversations. A guess.
const recent = 14 * 24 * time.Hour

// saslPart is the most bytes of one AUTHENTICATE (SASL 3.1).
const saslPart = 400

// Settings say who the user is.
type Settings struct {
	Nick     string
	Account  string // empty: no SASL
	Password string // of the account, or a token of it
	Pass     string // the server's password (PASS)
	// Invitation is the token that makes the account, once; empty: the account exists.
	Invitation string
	// Keep stores a token by which the account stays signed in on this device, whose name is
	// Device. nil: it does not stay.
	Keep   func(token string) error
	Device string
	Former string // the ID of a token that Keep replaces, and that is ended; empty: none
	Rooms  []string
	Now    func() time.Time
}

// An EventKind is something that happened and is not a line of a room.
type EventKind int

// The events of a session.
const (
	Ready         EventKind = iota // registered; the rooms are being joined
	Refused                        // the server refuses us, and will do so again
	Retry                          // this connection is useless, but another may work
	Spoken                         // somebody has said something
	Entered                        // we are in a room
	ReadElsewhere                  // the user has read a room on another device
	CaughtUp                       // messages that we have missed have come
	Found                          // a search has ended
	Shown                          // the message that Seek was called for is there
	Moved                          // the room Why, which we join, has the name Target
)

// An Event is an EventKind with its room and reason.
type Event struct {
	Kind    EventKind
	Why     string
	Target  string
	Room    *Room
	Message *Message
	Hits    []Hit
}

type state int

const (
	offline state = iota
	registering
	ready
)

// A batch collects the lines of a BATCH.
type batch struct {
	kind, target, source string
	tags                 map[string]string // of the line that opened it
	history              bool
	lines                []irc.Message
}

// collects says whether the lines of the batch wait for its end.
func (b *batch) collects() bool { return b != nil && (b.history || b.kind == multilineCap) }

// maxBatch bounds the lines of a batch that has not ended.
const maxBatch = 4096

// support has the values of RPL_ISUPPORT (005).
type support struct {
	casemapping, chantypes, prefixModes, prefixes, network string
	history                                                int
	monitor                                                int // nicks; 0: any number
	search                                                 bool
	filehost, bot                                          string
}

// A Session lasts longer than its connections. One goroutine owns it.
type Session struct {
	Nick   string
	Status *Room // messages of the server to us
	Away   bool

	settings   Settings
	rooms      map[string]*Room  // by folded name
	wants      map[string]string // the rooms to join after a reconnect, with their keys
	active     *Room
	registered bool // at least once
	since      time.Time
	labels     int
	sent       int // messages of several lines
	out        []irc.Message
	events     []Event

	// The fields below belong to one connection.
	state         state
	caps          map[string]bool
	offered       map[string]string // and their values
	support       support
	batches       map[string]*batch
	asking        map[string]bool     // rooms for which the session, not the user, has sent WHO
	watched       map[string]Presence // of folded nicks that the server watches
	hosts         int                 // USERHOSTs of the session that are not answered yet
	heard         time.Time           // when the last connection last received something
	authenticated bool
	nickAgain     bool      // the nick was refused before we had logged in
	tokenAsked    bool      // a token was asked for
	markersFrom   time.Time // before that, no read markers are sent
	source        string    // our nick!user@host
	server        string    // the server's name
	searching     *Room     // it was asked for
	search        *search   // the user waits for it
	searched      *search   // what searching was asked for
	Why           string    // the server's last ERROR
}

// New makes a session without a connection.
func New(settings Settings) *Session {
	if settings.Now == nil {
		settings.Now = time.Now
	}
	s := &Session{Nick: settings.Nick, Status: newRoom("*", false), settings: settings,
		rooms: map[string]*Room{}, wants: map[string]string{}}
	s.active = s.Status
	for _, name := range settings.Rooms {
		s.wants[name] = ""
	}
	s.reset()
	return s
}

// reset clears the fields that belong to one connection.
func (s *Session) reset() {
	s.state, s.caps, s.offered = offline, map[string]bool{}, map[string]string{}
	s.support = support{casemapping: irc.ASCII, chantypes: "#", prefixModes: "ov", prefixes: "@+",
		history: pageLength, monitor: noMonitor}
	s.watched, s.hosts = map[string]Presence{}, 0
	s.batches, s.asking = map[string]*batch{}, map[string]bool{}
	s.heard, s.Away, s.authenticated, s.nickAgain = s.since, false, false, false
	s.source, s.server, s.Why, s.markersFrom = "", "", "", time.Time{}
	s.searching, s.search, s.searched = nil, nil, nil
	s.tokenAsked = false
}

// Opened starts to register on a new connection.
func (s *Session) Opened() {
	s.reset()
	s.state = registering
	s.send("CAP", "LS", "302")
	if s.settings.Pass != "" {
		s.send("PASS", s.settings.Pass)
	}
	s.send("NICK", s.Nick)
	s.send("USER", cut(s.Nick, irc.MaxUser), "0", "*", s.Nick)
}

// Lost keeps the rooms and messages, and marks messages that may not have arrived.
func (s *Session) Lost() {
	s.doubtEdits()
	for _, r := range append(s.Rooms(), s.Status) {
		r.doubt()
		r.Joined, r.asked, r.naming, r.seek = false, nothing, nil, nil
		clear(r.Members)
	}
	why := s.Why
	s.reset()
	s.out, s.Why = nil, why
}

// Receive handles a line of the server.
func (s *Session) Receive(m irc.Message) {
	l := s.line(m)
	if b := s.batches[m.Tags["batch"]]; b.collects() && m.Command != "BATCH" {
		if len(b.lines) < maxBatch {
			b.lines = append(b.lines, m)
		}
		return
	}
	if l.timed && l.time.After(s.since) {
		s.since = l.time
	}
	if handle, ok := handlers[m.Command]; ok {
		handle(s, l)
	} else if len(m.Command) == 3 && strings.Trim(m.Command, "0123456789") == "" {
		s.numeric(l)
	}
}

// line returns a line of the server with its time.
func (s *Session) line(m irc.Message) line {
	l := line{Message: m, time: s.settings.Now()}
	if t, err := time.Parse(time.RFC3339Nano, m.Tags["time"]); err == nil {
		l.time, l.timed = t, true
	}
	return l
}

// Out returns the lines to send, and removes them.
func (s *Session) Out() []irc.Message {
	out := s.out
	s.out = nil
	return out
}

// Events returns what has happened, and removes it.
func (s *Session) Events() []Event {
	events := s.events
	s.events = nil
	return events
}

func (s *Session) tell(e Event) { s.events = append(s.events, e) }

// send queues a line. Line breaks in its words would make two lines of it.
func (s *Session) send(command string, params ...string) {
	for i, p := range params {
		params[i] = strings.Map(func(c rune) rune {
			if c == '\r' || c == '\n' || c == 0 {
				return ' '
			}
			return c
		}, p)
	}
	s.out = append(s.out, irc.Message{Command: command, Params: params})
}

// Send queues a line that the user has typed.
func (s *Session) Send(command string, params ...string) { s.send(command, params...) }

// Online says whether a message would be sent now.
func (s *Session) Online() bool { return s.state == ready }

// Registered says whether the session was registered at least once.
func (s *Session) Registered() bool { return s.registered }

// Network returns the network's name.
func (s *Session) Network() string { return s.support.network }

// Fold returns the same text for names that the server takes for one.
func (s *Session) Fold(name string) string { return irc.Fold(name, s.support.casemapping) }

// IsMe says whether a nick is ours.
func (s *Session) IsMe(nick string) bool { return s.Fold(nick) == s.Fold(s.Nick) }

// IsChannel says whether a name is a room's, not a user's.
func (s *Session) IsChannel(name string) bool {
	return name != "" && strings.Contains(s.support.chantypes, name[:1])
}

// Rooms returns the rooms by name, conversations last.
func (s *Session) Rooms() []*Room {
	return slices.SortedFunc(maps.Values(s.rooms), func(a, b *Room) int {
		if a.Channel != b.Channel {
			return map[bool]int{true: -1, false: 1}[a.Channel]
		}
		return strings.Compare(s.Fold(a.Name), s.Fold(b.Name))
	})
}

// Find returns the room of a name, or nil.
func (s *Session) Find(name string) *Room { return s.rooms[s.Fold(name)] }

// Open returns the room of a name, which it may have to make.
func (s *Session) Open(name string) *Room {
	r := s.Find(name)
	if r == nil {
		r = newRoom(name, s.IsChannel(name))
		s.rooms[s.Fold(name)] = r
		s.askMarker(r)
		if !r.Channel {
			s.watch(name)
		}
	}
	return r
}

// Close leaves a room and removes it.
func (s *Session) Close(r *Room, why string) {
	if r == s.Status {
		return
	}
	if r.Channel && r.Joined {
		s.send("PART", append([]string{r.Name}, words(why)...)...)
	}
	if !r.Channel {
		s.unwatch(r.Name)
	}
	delete(s.wants, r.Name)
	delete(s.rooms, s.Fold(r.Name))
	if s.active == r {
		s.active = s.Status
	}
}

// Active returns the room that the user looks at, in which answers are shown.
func (s *Session) Active() *Room { return s.active }

// Look makes a room the active one.
func (s *Session) Look(r *Room) {
	s.active = r
	if r.past == nil {
		r.Look()
	}
}

// Join joins a room.
func (s *Session) Join(name, key string) {
	s.wants[name] = key
	s.send("JOIN", append([]string{name}, words(key)...)...)
}

// Note adds a line to a room that only this client sees.
func (s *Session) Note(r *Room, kind Kind, text string) { s.note(r, kind, text, s.settings.Now()) }

// NoteHit is Note for a message that a search has found.
func (s *Session) NoteHit(r *Room, hit Hit, text string) *Message {
	m := &Message{Time: s.settings.Now(), Kind: Answer, Text: text, Hit: &hit}
	r.add(m)
	r.trim()
	return m
}

func (s *Session) note(r *Room, kind Kind, text string, at time.Time) {
	r.add(&Message{Time: at, Kind: kind, Text: text})
	r.trim()
}

func (s *Session) offers(capability string) bool {
	_, there := s.offered[capability]
	return there
}

// request asks for the capabilities that the server has and we want.
func (s *Session) request() {
	var ask []string
	for _, c := range wanted {
		if s.offers(c) && !s.caps[c] {
			ask = append(ask, c)
		}
	}
	if s.settings.Account != "" && s.offers("sasl") && !s.caps["sasl"] {
		ask = append(ask, "sasl")
	}
	switch {
	case len(ask) > 0:
		s.send("CAP", "REQ", strings.Join(ask, " "))
	case s.state == registering:
		s.negotiated()
	}
}

// negotiated goes on when the capabilities are known: by SASL, or to the end of them.
func (s *Session) negotiated() {
	switch {
	case s.state != registering:
	case s.settings.Account == "" || s.authenticated:
		s.send("CAP", "END")
	case s.settings.Invitation != "" && s.offers("draft/account-registration"):
		s.send("REGISTER", s.settings.Account, s.settings.Invitation, s.settings.Password)
	case s.caps["sasl"]:
		s.send("AUTHENTICATE", "PLAIN")
	default:
		s.tell(Event{Kind: Refused, Why: "the server has no accounts: connect without a password"})
	}
}

func (s *Session) authenticate() {
	text := base64.StdEncoding.EncodeToString([]byte("\x00" + s.settings.Account + "\x00" +
		s.settings.Password))
	for len(text) >= saslPart {
		s.send("AUTHENTICATE", text[:saslPart])
		text = text[saslPart:]
	}
	if text == "" {
		text = "+"
	}
	s.send("AUTHENTICATE", text)
}

// enter joins the rooms again, and asks for what was missed in conversations.
func (s *Session) enter() {
	if s.state == ready {
		return
	}
	s.state, s.registered = ready, true
	for _, name := range slices.Sorted(maps.Keys(s.wants)) {
		s.Join(name, s.wants[name])
	}
	for _, r := range s.Rooms() {
		s.askMarker(r)
	}
	s.watchAll()
	s.askTargets()
	s.askToken()
	s.tell(Event{Kind: Ready})
}

// askTargets asks who has written to us since the last connection. A device that the account has
// not used before learns its conversations.
func (s *Session) askTargets() {
	from := s.heard.Add(-time.Millisecond)
	switch {
	case !s.hasHistory() || s.heard.IsZero() && s.settings.Account == "":
		return
	case s.heard.IsZero():
		from = s.settings.Now().Add(-recent)
	}
	s.send("CHATHISTORY", "TARGETS", stamp(from), stamp(s.settings.Now().Add(time.Minute)),
		strconv.Itoa(s.limit()))
}

func (s *Session) hasHistory() bool { return s.caps["draft/chathistory"] || s.caps["chathistory"] }

func (s *Session) limit() int {
	if s.support.history > 0 {
		return min(pageLength, s.support.history)
	}
	return pageLength
}

// CatchUp requests the messages of a room after the newest that it has, or the latest if it has
// none.
func (s *Session) CatchUp(r *Room) {
	if !s.hasHistory() || r.asked != nothing {
		return
	}
	r.pages = 0
	m := r.behind // a connection was lost while this went on, and newer messages may have come
	if m == nil {
		m = r.newest()
	}
	if m != nil {
		s.after(r, m, m)
		return
	}
	s.ask(r, latest, "LATEST", "*")
}

// after requests what was said after a message. The page follows behind in the room.
func (s *Session) after(r *Room, m, behind *Message) {
	r.from, r.behind = m, behind
	s.ask(r, after, "AFTER", reference(m, -1))
}

// Older requests the page of messages before the oldest that the user looks at. It returns false if
// there is none.
func (s *Session) Older(r *Room) bool {
	kind, list := before, r
	if r.past != nil {
		kind, list = pastBefore, r.past
	}
	m := list.oldest()
	if !s.hasHistory() || s.state != ready || r.asked != nothing || list.Whole || m == nil ||
		len(list.Messages) > deep {
		return false
	}
	s.ask(r, kind, "BEFORE", reference(m, 1))
	return true
}

// Fetching says whether older messages were requested and have not come.
func (r *Room) Fetching() bool { return r.asked == before || r.asked == pastBefore }

func (s *Session) ask(r *Room, kind asking, command, ref string) {
	r.asked = kind
	s.send("CHATHISTORY", command, r.Name, ref, strconv.Itoa(s.limit()))
}

func stamp(t time.Time) string { return "timestamp=" + t.UTC().Format("2006-01-02T15:04:05.000Z") }

// reference names a message in a request for history. A message without an id is named by its time.
// A request for those before or after it then begins so many milliseconds beyond, since others may
// have the same time: those that are there already are not shown twice.
func reference(m *Message, beyond int) string {
	if m.ID != "" {
		return "msgid=" + m.ID
	}
	return stamp(m.Time.Add(time.Duration(beyond) * time.Millisecond))
}

func words(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func cut(s string, n int) string { return s[:min(len(s), n)] }
