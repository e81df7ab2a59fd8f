// Package terminal is a chat client for a terminal. Model is pure: lines of the server, keys and
// the size of the screen go in, and the screen and lines for the server come out. Program does the
// I/O.
package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/papaya/client"
	"interleave/papaya/irc"
)

// The events of a model, besides client.Opened, client.Line and client.Lost.
type (
	// Key is a key as bubbletea names it: "enter", "ctrl+c".
	Key string
	// Text was typed or pasted.
	Text string
	// Size is the size of the screen in characters.
	Size struct{ Width, Height int }
	// Focus says whether the terminal has the focus. One that does not say so has it.
	Focus bool
	// Tick comes some time after Waits was set.
	Tick struct{}
	// Uploaded is the outcome of an upload: the link of the file, or why there is none.
	Uploaded struct {
		Upload
		Link string
		Err  error
	}
)

// An Upload is a file that the user sends to a room.
type Upload struct {
	Room *client.Room
	Path string
	To   client.FileHost
}

// A Model has everything that is on the screen. One goroutine owns it.
type Model struct {
	session       *client.Session
	zone          *time.Location
	width, height int
	in            input
	drafts        map[*client.Room]string
	told          string // a line that answers the last input
	state         string // a line about the connection; empty while it works
	goTo          string // the room to look at when we have joined it
	// marks has the time after which messages were new when the user began to look at a room.
	marks   map[*client.Room]time.Time
	blurred bool // the user looks at another window
	// bottom is the last message on the screen after scrolling back; nil: the newest.
	bottom *client.Message
	cut    int // lines of bottom that are below the screen
	rows   map[*client.Message]drawn
	picked *client.Message          // the message that a command is about; nil: none
	opened map[*client.Message]bool // long messages that are shown whole

	// The results.
	Quit   bool
	Failed string // why the server refuses us
	Steady bool   // the session is established: the next loss is followed by a short pause
	Drop   bool   // the connection is useless
	Waits  bool   // a Tick is needed, some seconds from now
	// Uploads are files to send. Each is answered by Uploaded.
	Uploads []Upload
}

// maxDrawn bounds the messages whose drawn lines are kept. Above it all are drawn again.
const maxDrawn = 30_000

// NewModel makes a model of a session. It shows times in the zone.
func NewModel(session *client.Session, zone *time.Location) *Model {
	return &Model{
		session: session, zone: zone, width: 80, height: 24, state: "connecting",
		drafts: map[*client.Room]string{}, marks: map[*client.Room]time.Time{},
		rows: map[*client.Message]drawn{}, opened: map[*client.Message]bool{},
	}
}

// Take handles an event, and returns the lines to send.
func (m *Model) Take(event any) []irc.Message {
	switch e := event.(type) {
	case client.Opened:
		m.state = "signing in"
		m.session.Opened()
	case client.Line:
		m.session.Receive(e.Message)
	case client.Lost:
		m.lost(e)
	case Size:
		m.width, m.height = max(e.Width, 1), max(e.Height, 1)
		clear(m.rows)
	case Text:
		m.in.forgetOffers()
		m.insert(string(e))
	case Key:
		m.key(string(e))
	case Focus:
		m.blurred = !bool(e)
		m.see()
	case Tick:
		m.session.SendMarkers()
	case Uploaded:
		m.uploaded(e)
	}
	for _, e := range m.session.Events() {
		m.event(e)
	}
	if len(m.rows) > maxDrawn {
		clear(m.rows)
		clear(m.opened)
	}
	m.Waits = m.session.MarkersWait()
	return m.session.Out()
}

func (m *Model) lost(e client.Lost) {
	why := "the server closed it"
	if e.Err != nil && e.Err.Error() != "EOF" {
		why = e.Err.Error()
	}
	if m.session.Why != "" {
		why = m.session.Why
	}
	m.session.Lost()
	m.state = "connection lost: " + why + "; trying again in " + e.In.Round(time.Second).String()
}

func (m *Model) event(e client.Event) {
	switch e.Kind {
	case client.Ready:
		m.state, m.Steady = "", true
	case client.Refused:
		m.Failed, m.Quit = e.Why, true
	case client.Retry:
		m.session.Why, m.Drop = e.Why, true
	case client.Entered:
		if m.goTo == m.session.Fold(e.Room.Name) || m.session.Active() == m.session.Status {
			m.goTo = ""
			m.look(e.Room)
		}
	case client.Moved:
		if m.goTo == m.session.Fold(e.Why) {
			m.goTo = m.session.Fold(e.Target)
		}
		if r := m.session.Find(e.Target); r != nil && r.Joined && m.goTo == m.session.Fold(r.Name) {
			m.goTo = ""
			m.look(r)
		}
	case client.Spoken:
		if e.Room == m.session.Active() {
			m.see()
		}
	case client.Found:
		m.found(e.Hits)
	case client.Shown:
		m.show(e.Room, e.Message)
	case client.CaughtUp:
		if _, marked := m.marks[e.Room]; e.Room == m.session.Active() {
			if !marked {
				m.mark(e.Room)
			}
			m.see()
		}
	case client.ReadElsewhere:
		if _, marked := m.marks[e.Room]; marked && e.Room.Unread > 0 {
			m.marks[e.Room] = e.Room.ReadUpTo()
		} else {
			delete(m.marks, e.Room)
		}
	}
}

// see notes that the user sees the newest messages of the room on the screen, or that they are new
// because the user does not.
func (m *Model) see() {
	r := m.session.Active()
	if m.bottom == nil && !m.blurred && r.Past() == nil {
		r.Look()
	} else if r.Unread == 1 {
		m.mark(r)
	}
}

// mark has the line "new" drawn above the unread messages of a room.
func (m *Model) mark(r *client.Room) {
	if r.Unread > 0 && r.Unread < len(r.Messages) {
		m.marks[r] = r.ReadUpTo()
	}
}

// leave sends QUIT and ends.
func (m *Model) leave(why string) {
	if m.session.Online() {
		m.session.SendMarkers()
		if why == "" {
			why = "left"
		}
		m.session.Send("QUIT", why)
	}
	m.Quit = true
}

// look shows a room.
func (m *Model) look(r *client.Room) {
	old := m.session.Active()
	m.drafts[old] = m.in.String()
	m.told, m.bottom, m.cut, m.picked = "", nil, 0, nil
	delete(m.marks, old)
	old.Latest()
	m.mark(r)
	m.session.Look(r)
	m.in.set(m.drafts[r])
	delete(m.drafts, r)
}

func (m *Model) key(key string) {
	if key != "tab" && key != "shift+tab" {
		m.in.forgetOffers()
	}
	switch key {
	case "ctrl+c":
		m.leave("")
	case "enter":
		m.enter()
	case "shift+enter", "alt+enter", "ctrl+j":
		m.insert("\n")
	case "tab":
		m.in.complete(1, m.offered)
	case "shift+tab":
		m.in.complete(-1, m.offered)
	case "pgup", "shift+up":
		m.scroll(m.page(key))
	case "pgdown", "shift+down":
		m.scroll(-m.page(key))
	case "ctrl+up":
		m.pick(-1)
	case "ctrl+down":
		m.pick(1)
	case "esc":
		m.newest()
	case "ctrl+n", "alt+down":
		m.step(1)
	case "ctrl+p", "alt+up":
		m.step(-1)
	case "alt+a":
		m.unread()
	default:
		m.in.key(key)
	}
}

// insert inserts a text that was typed or pasted.
func (m *Model) insert(text string) {
	if !m.in.insert(text) {
		m.told = fmt.Sprintf("the text is too long: at most %d characters", maxInput)
	}
}

// page returns how many rows a key scrolls.
func (m *Model) page(key string) int {
	if strings.HasPrefix(key, "shift+") {
		return 1
	}
	return max(1, m.layout().height-2)
}

func (m *Model) newest() {
	m.bottom, m.cut, m.picked = nil, 0, nil
	m.session.Active().Latest()
	m.see()
}

// enter runs the typed line. If that fails, the line stays.
func (m *Model) enter() {
	text := strings.TrimRight(m.in.String(), " \n")
	if strings.TrimSpace(text) == "" {
		m.in.set("")
		m.open()
		return
	}
	room := m.session.Active()
	m.told = ""
	told := m.obey(text)
	m.told = told
	if told != "" && !strings.HasPrefix(text, "/topic") {
		return
	}
	if room == m.session.Active() {
		m.in.take()
		m.newest()
		return
	}
	delete(m.drafts, room) // the command shows another room: the draft must not stay here
	m.in.written = append(m.in.written, text)
}

// all returns the rooms in the order of the screen.
func (m *Model) all() []*client.Room {
	return append([]*client.Room{m.session.Status}, m.session.Rooms()...)
}

func (m *Model) step(by int) {
	all := m.all()
	at := slices.Index(all, m.session.Active())
	m.look(all[(at+by+len(all))%len(all)])
}

// unread shows the next room with unread messages, mentions first.
func (m *Model) unread() {
	var next *client.Room
	for _, r := range m.session.Rooms() {
		if r.Unread > 0 && (next == nil || next.Mentions == 0 && r.Mentions > 0) {
			next = r
		}
	}
	if next != nil {
		m.look(next)
	}
}

// offered returns completions of a word: commands at the start, rooms after #, nicks elsewhere.
func (m *Model) offered(word string, first bool) []string {
	end, low := " ", strings.ToLower(word)
	var from []string
	switch {
	case first && word[0] == '/':
		for _, c := range commands {
			from = append(from, "/"+c.name)
		}
	case m.session.IsChannel(word):
		for _, r := range m.session.Rooms() {
			from = append(from, r.Name)
		}
	default:
		if first {
			end = ": "
		}
		for _, p := range m.session.Active().People() {
			if !m.session.IsMe(p.Nick) {
				from = append(from, p.Nick)
			}
		}
		if r := m.session.Active(); !r.Channel && r != m.session.Status {
			from = append(from, r.Name)
		}
	}
	var out []string
	for _, f := range from {
		if strings.HasPrefix(strings.ToLower(f), low) {
			out = append(out, f+end)
		}
	}
	slices.Sort(out)
	return out
}
