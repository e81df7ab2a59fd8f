package play

import (
	"fmt"
	"strings"
)

// The actions of a transcript for services that talk in lines and keep what they are told: how each
// is written. How they are played is in speech.go (lines), talk.go (generated ones), past.go (the
// log) and restart.go (the server's end, start and folder).
type (
	says struct { // a says DATA [by SIZE [every TIME]]; a says DATA until PATTERN
		data  data
		pace  pace
		until *wanted // repeats it until this is the answer
	}
	hears struct { // a hears PATTERN ... [as often]
		want    []*wanted
		nothing bool // a hears nothing
		ping    bool // a hears ping
		often   bool // each so often as the last "until" was granted
	}
	names struct { // a hears names ROOM NICKS
		room  string
		nicks []string
	}
	skips   struct{ to *wanted } // a skips to PATTERN
	ignores struct{}             // a ignores pings
	drains  struct{}             // a drains
	enters  struct {             // a registers [as NICK] [with CAPS]
		nick, caps string
	}
	joins struct { // a joins ROOM ...; c joins ROOM 2 of 8
		rooms    []string
		each, of int
	}
	// c chats 200 [length 1..400] seed 3 [pipeline 50] [until server killed|terminates after 1000]
	chats struct {
		count, least, most, pipeline int64
		seed                         uint64
		end                          ending
		after                        int64
	}
	catches struct{ once bool } // a catches up [once]

	visits struct{ count int64 } // visit 10000

	powerLost    struct{ halfway bool } // power lost [halfway]
	serverKilled struct{}               // server killed
	serverStarts struct{}               // server starts
	serverAlone  struct{}               // server keeps its folder

	dataFile struct { // data file NAME DATA, data append NAME DATA
		name string
		data data
		more bool
	}
	dataPrivate struct{}            // data is private
	dataRoom    struct{ full bool } // data is full, data has room

	logIs struct { // log is PATTERN ... [as often]
		want  []*wanted
		often bool
	}
	logEnds    struct{} // log ends
	logWhole   struct{} // log whole
	logRemoved struct{} // log removed
)

func (*says) usage() string {
	return "NAME says DATA [by SIZE [every TIME]], or NAME says DATA until PATTERN"
}
func (*hears) usage() string {
	return "NAME hears PATTERN ... [as often], NAME hears nothing, NAME hears ping or NAME " +
		"hears names ROOM NICKS"
}
func (*names) usage() string   { return `NAME hears names "#ROOM" "NICK ..."` }
func (*skips) usage() string   { return "NAME skips to PATTERN" }
func (*ignores) usage() string { return "NAME ignores pings" }
func (*drains) usage() string  { return "NAME drains" }
func (*enters) usage() string  { return `NAME registers [as "NICK"] [with "CAPABILITIES"]` }
func (*joins) usage() string {
	return `NAME joins "#ROOM" ..., or NAME joins "#ROOM" COUNT of COUNT for the rooms #ROOM0 and so on`
}
func (*chats) usage() string {
	return "NAME chats COUNT [length FROM..TO] seed NUMBER [pipeline COUNT] [until server " +
		"killed|server terminates|power lost [halfway] after COUNT]"
}
func (*powerLost) usage() string    { return "power lost [halfway]" }
func (*catches) usage() string      { return "NAME catches up [once]" }
func (*visits) usage() string       { return "visit COUNT" }
func (*serverKilled) usage() string { return "server killed" }
func (*serverStarts) usage() string { return "server starts" }
func (*serverAlone) usage() string  { return "server keeps its folder" }
func (*dataFile) usage() string     { return `data file "NAME" DATA, or data append "NAME" DATA` }
func (*dataPrivate) usage() string  { return "data is private" }
func (*dataRoom) usage() string     { return "data is full, data has room" }
func (*logIs) usage() string        { return "log is PATTERN ... [as often]" }
func (*logEnds) usage() string      { return "log ends" }
func (*logWhole) usage() string     { return "log whole" }
func (*logRemoved) usage() string   { return "log removed" }

var speechVerbs = map[string]func(*words) (action, error){
	"says":      parseSays,
	"hears":     parseHears,
	"skips":     parseSkips,
	"ignores":   func(w *words) (action, error) { return &ignores{}, w.expect("pings") },
	"drains":    func(*words) (action, error) { return &drains{}, nil },
	"registers": parseEnters,
	"joins":     parseJoins,
	"chats":     parseChats,
	"catches": func(w *words) (action,
		error) {
		err := w.expect("up")
		return &catches{w.take("once")}, err
	},
}

var dataVerbs = map[string]func(*words) (action, error){
	"file":   func(w *words) (action, error) { return parseDataFile(w, &dataFile{}) },
	"append": func(w *words) (action, error) { return parseDataFile(w, &dataFile{more: true}) },
	"is":     parseDataIs,
	"has":    func(w *words) (action, error) { return &dataRoom{}, w.expect("room") },
}

var powerVerbs = map[string]func(*words) (action, error){
	"lost": func(w *words) (action, error) { return &powerLost{w.take("halfway")}, nil },
}

var logVerbs = map[string]func(*words) (action, error){
	"is":      parseLogIs,
	"ends":    func(*words) (action, error) { return &logEnds{}, nil },
	"whole":   func(*words) (action, error) { return &logWhole{}, nil },
	"removed": func(*words) (action, error) { return &logRemoved{}, nil },
}

// expect takes these words, which must come next.
func (w *words) expect(next ...string) error {
	for _, word := range next {
		if !w.take(word) {
			return fmt.Errorf("expected %s", strings.Join(next, " "))
		}
	}
	return nil
}

// quoted reads a text in quotes.
func (w *words) quoted(expected string) (string, error) {
	next, ok := w.peek()
	if !ok || !next.quoted || next.text == "" {
		return "", fmt.Errorf("expected %s in quotes", expected)
	}
	w.at++
	return next.text, nil
}

// patterns reads one or more.
func (w *words) patterns() (list []*wanted, err error) {
	for {
		if next, ok := w.peek(); len(list) > 0 && !(ok && next.quoted) {
			return list, nil
		}
		text, err := w.quoted("a line")
		if err != nil {
			return nil, err
		}
		list = append(list, newWanted(text))
	}
}

func (w *words) often() (bool, error) {
	if !w.take("as") {
		return false, nil
	}
	return true, w.expect("often")
}

func parseSays(w *words) (_ action, err error) {
	s := &says{}
	if s.data, err = w.data(); err != nil {
		return s, err
	}
	if w.take("until") {
		text, err := w.quoted("a line")
		s.until = newWanted(text)
		return s, err
	}
	s.pace, err = w.pace()
	return s, err
}

func parseHears(w *words) (_ action, err error) {
	h := &hears{}
	switch {
	case w.take("status"):
		return parseStatus(w)
	case w.take("greeting"):
		g := &hearsGreeting{}
		g.path, err = w.quoted("a path")
		return g, err
	case w.take("chunk"):
		return parseChunks(w)
	case w.take("end"):
		return &hearsStatus{endsOnly: true}, nil
	case w.take("nothing"):
		h.nothing = true
		return h, nil
	case w.take("ping"):
		h.ping = true
		return h, nil
	case w.take("names"):
		n := &names{}
		if n.room, err = w.quoted("a room"); err != nil {
			return n, err
		}
		text, err := w.quoted("the nicks in it")
		n.nicks = strings.Fields(text)
		return n, err
	}
	if h.want, err = w.patterns(); err == nil {
		h.often, err = w.often()
	}
	return h, err
}

func parseSkips(w *words) (action, error) {
	s := &skips{}
	if err := w.expect("to"); err != nil {
		return s, err
	}
	text, err := w.quoted("a line")
	s.to = newWanted(text)
	return s, err
}

func parseEnters(w *words) (_ action, err error) {
	e := &enters{}
	if w.take("as") {
		if e.nick, err = w.quoted("a nick"); err != nil {
			return e, err
		}
	}
	if w.take("with") {
		e.caps, err = w.quoted("capabilities")
	}
	return e, err
}

// maxRooms of a client: what the chat allows.
const maxRooms = 100

func parseJoins(w *words) (action, error) {
	j := &joins{}
	for {
		next, ok := w.peek()
		if len(j.rooms) > 0 && !(ok && next.quoted) {
			break
		}
		room, err := w.quoted("a room")
		if err != nil {
			return j, err
		}
		j.rooms = append(j.rooms, room)
	}
	if _, ok := w.peek(); !ok || len(j.rooms) != 1 {
		return j, nil
	}
	each, err := w.number("a number of rooms for each", 1, maxRooms)
	if err != nil {
		return j, err
	}
	if err := w.expect("of"); err != nil {
		return j, err
	}
	of, err := w.number("a number of rooms", each, maxClients)
	j.each, j.of = int(each), int(of)
	return j, err
}

// maxTalk bounds the generated lines of a client, and longestTalk their text, which must stay below
// 512 bytes with its sender, command and room.
const (
	maxTalk     = 200_000
	longestTalk = 400
)

func parseChats(w *words) (_ action, err error) {
	c := &chats{least: 20, most: 100, pipeline: 1}
	if c.count, err = w.number("a number of lines", 1, maxTalk); err != nil {
		return c, err
	}
	if w.take("length") {
		if c.least, c.most, err = w.span("lengths such as 20..400", longestTalk); err != nil {
			return c, err
		}
	}
	if err := w.expect("seed"); err != nil {
		return c, err
	}
	seed, err := w.number("a seed", 0, 1<<32)
	if err != nil {
		return c, err
	}
	c.seed = uint64(seed)
	if w.take("pipeline") {
		if c.pipeline, err = w.number("a number of lines in flight", 1, maxTalk); err != nil {
			return c, err
		}
	}
	if !w.take("until") {
		return c, nil
	}
	if c.end, err = w.ending(); err != nil {
		return c, err
	}
	if err := w.expect("after"); err != nil {
		return c, err
	}
	c.after, err = w.number("a number of acknowledged lines", 1, maxTalk)
	return c, err
}

// An ending is how the server's end comes in the middle of a talk.
type ending string

const (
	endKilled     ending = "killed"
	endTerminates ending = "terminates"
	endPower      ending = "power lost"
	endHalfway    ending = "power lost halfway"
)

func (w *words) ending() (ending, error) {
	switch {
	case w.take("power"):
		if err := w.expect("lost"); err != nil {
			return "", err
		}
		if w.take("halfway") {
			return endHalfway, nil
		}
		return endPower, nil
	case !w.take("server"):
		return "", fmt.Errorf("expected server killed, server terminates or power lost after until")
	case w.take("killed"):
		return endKilled, nil
	case w.take("terminates"):
		return endTerminates, nil
	}
	return "", fmt.Errorf("expected killed or terminates after until server")
}

func parseVisits(w *words) (_ action, err error) {
	v := &visits{}
	v.count, err = w.number("a number of connections", 1, 100_000)
	return v, err
}

func parseDataFile(w *words, f *dataFile) (_ action, err error) {
	if f.name, err = w.quoted("a file's name"); err != nil {
		return f, err
	}
	if strings.Contains(f.name, "/") || f.name == "." || f.name == ".." {
		return f, fmt.Errorf("expected the name of a file in the server's folder, got %q", f.name)
	}
	f.data, err = w.data()
	return f, err
}

func parseDataIs(w *words) (action, error) {
	switch {
	case w.take("private"):
		return &dataPrivate{}, nil
	case w.take("full"):
		return &dataRoom{full: true}, nil
	}
	return nil,
		fmt.Errorf("expected private or full after data is, or, before the first step, absent " +
			"or small")
}

func parseLogIs(w *words) (_ action, err error) {
	l := &logIs{}
	if l.want, err = w.patterns(); err == nil {
		l.often, err = w.often()
	}
	return l, err
}
