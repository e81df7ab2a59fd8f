// Package chat has the verbs of transcripts for chats: clients that talk in the lines of IRC, and a
// server that keeps what it is told in a log.
//
// speech.go is what one client says and hears, talk.go the generated lines of many, and past.go the
// log and what clients hear of it when they return.
package chat

import (
	"fmt"
	"strings"

	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

// Verbs are the verbs of chats.
var Verbs = transcript.Join(clientVerbs, logVerbs, powerVerbs)

var clientVerbs = play.Vocabulary{{Word: transcript.Client, Verbs: play.Verbs{
	"says": play.ByEach("NAME says DATA [by SIZE [every TIME]], or NAME says DATA until PATTERN",
		readSays, says),
	"hears":         play.ByEach(hearsUsage, readHears, hears),
	"hears nothing": play.ByEach(hearsUsage, play.NoWords, hearsNothing),
	"hears ping":    play.ByEach(hearsUsage, play.NoWords, hearsPing),
	"hears names":   play.ByEach(`NAME hears names "#ROOM" "NICK ..."`, readNames, hearsNames),
	"skips":         play.ByEach("NAME skips to PATTERN", readSkips, skips),
	"ignores":       play.ByEach("NAME ignores pings", readIgnores, ignores),
	"drains":        play.ByEach("NAME drains", readDrains, drains),
	"registers": play.ByEach(`NAME registers [as "NICK"] [with "CAPABILITIES"]`, readRegisters,
		registers),
	"joins": play.ByEach(`NAME joins "#ROOM" ..., or NAME joins "#ROOM" COUNT of COUNT for the `+
		`rooms #ROOM0 and so on`, readJoins, joins),
	"chats": play.Once("NAME chats COUNT [length FROM..TO] seed NUMBER [pipeline COUNT] [until "+
		"server killed|server terminates|power lost [halfway] after COUNT]", readChats, chat),
	"catches": play.ByEach("NAME catches up [once]", readCatches, catches),
}}}

const hearsUsage = "NAME hears PATTERN ... [as often], NAME hears nothing, NAME hears ping or " +
	"NAME hears names ROOM NICKS"

var logVerbs = play.Vocabulary{{Word: "log", Verbs: play.Verbs{
	"is":      play.Once("log is PATTERN ... [as often]", readLines, logIs),
	"ends":    play.Once("log ends", play.NoWords, logEnds),
	"whole":   play.Once("log whole", play.NoWords, logWhole),
	"removed": play.Once("log removed", play.NoWords, logRemoved),
}}}

var powerVerbs = play.Vocabulary{{Word: "power", Verbs: play.Verbs{
	"lost": play.Once("power lost [halfway]", readPowerLost, losePower),
}}}

// wantedLines are lines that must come, or stand in the log.
type wantedLines struct {
	lines []*wanted
	often bool // as often as the last line of "says until" was taken
}

func readLines(l *play.Line) (w wantedLines, err error) {
	for len(w.lines) == 0 || l.AtQuoted() {
		text, err := l.Quoted("a line")
		if err != nil {
			return w, err
		}
		w.lines = append(w.lines, newWanted(text))
	}
	if w.often = l.Take("as"); w.often {
		err = l.Expect("often")
	}
	return w, err
}

// times returns how often all of the lines must come.
func (w wantedLines) times(s *scene) int {
	if w.often {
		return s.granted
	}
	return 1
}

func readHears(l *play.Line) (wantedLines, error) { return readLines(l) }

// saying are the words of says.
type saying struct {
	data  transcript.Data
	pace  transcript.Pace
	until *wanted // the line is said again until this is the answer; nil: it is said once
}

func readSays(l *play.Line) (s saying, err error) {
	if s.data, err = l.Data(); err != nil {
		return s, err
	}
	if l.Take("until") {
		text, err := l.Quoted("a line")
		s.until = newWanted(text)
		return s, err
	}
	s.pace, err = l.Pace()
	return s, err
}

// names are the names of those in a room.
type names struct {
	room  string
	nicks []string
}

func readNames(l *play.Line) (n names, err error) {
	if n.room, err = l.Quoted("a room"); err != nil {
		return n, err
	}
	text, err := l.Quoted("the nicks in it")
	n.nicks = strings.Fields(text)
	return n, err
}

func readSkips(l *play.Line) (*wanted, error) {
	if err := l.Expect("to"); err != nil {
		return nil, err
	}
	text, err := l.Quoted("a line")
	return newWanted(text), err
}

func readIgnores(l *play.Line) (play.None, error) { return play.None{}, l.Expect("pings") }

func readDrains(l *play.Line) (play.None, error) {
	l.EndsClient()
	return play.None{}, nil
}

// registration are the words of registers.
type registration struct{ nick, capabilities string }

func readRegisters(l *play.Line) (r registration, err error) {
	if l.Take("as") {
		if r.nick, err = l.Quoted("a nick"); err != nil {
			return r, err
		}
	}
	if l.Take("with") {
		r.capabilities, err = l.Quoted("capabilities")
	}
	return r, err
}

// rooms are the words of joins.
type rooms struct {
	names []string
	// Each client of a group joins so many of so many rooms, which are called like the one in
	// names with a number at the end. 0: all join the rooms in names.
	each, of int
}

// maxRooms is how many rooms the chat allows to a client.
const maxRooms = 100

func readJoins(l *play.Line) (r rooms, err error) {
	for len(r.names) == 0 || l.AtQuoted() {
		room, err := l.Quoted("a room")
		if err != nil {
			return r, err
		}
		r.names = append(r.names, room)
	}
	if l.AtEnd() || len(r.names) != 1 {
		return r, nil
	}
	each, err := l.Number("a number of rooms for each", 1, maxRooms)
	if err != nil {
		return r, err
	}
	if err := l.Expect("of"); err != nil {
		return r, err
	}
	of, err := l.Number("a number of rooms", each, transcript.MaxClients)
	r.each, r.of = int(each), int(of)
	return r, err
}

// chats are the words of: c chats 200 length 1..400 seed 3 pipeline 50 until server killed after
// 1000.
type chats struct {
	count, least, most, pipeline int64
	seed                         uint64
	end                          ending
	after                        int64 // acknowledged lines
}

const (
	// maxTalk bounds the generated lines of a client.
	maxTalk = 200_000
	// longestTalk bounds their text, in bytes. With its sender, command and room a line must stay
	// below 512.
	longestTalk = 400
)

func readChats(l *play.Line) (c chats, err error) {
	c = chats{least: 20, most: 100, pipeline: 1}
	if c.count, err = l.Number("a number of lines", 1, maxTalk); err != nil {
		return c, err
	}
	if l.Take("length") {
		if c.least, c.most, err = l.Span("lengths such as 20..400", longestTalk); err != nil {
			return c, err
		}
	}
	if err := l.Expect("seed"); err != nil {
		return c, err
	}
	seed, err := l.Number("a seed", 0, 1<<32)
	if err != nil {
		return c, err
	}
	c.seed = uint64(seed)
	if l.Take("pipeline") {
		if c.pipeline, err = l.Number("a number of lines in flight", 1, maxTalk); err != nil {
			return c, err
		}
	}
	if !l.Take("until") {
		return c, nil
	}
	if c.end, err = readEnding(l); err != nil {
		return c, err
	}
	if err := l.Expect("after"); err != nil {
		return c, err
	}
	c.after, err = l.Number("a number of acknowledged lines", 1, maxTalk)
	return c, err
}

// An ending is how the server ends in the middle of a talk.
type ending string

const (
	endKilled     ending = "killed"
	endTerminates ending = "terminates"
	endPower      ending = "power lost"
	endHalfway    ending = "power lost halfway"
)

func readEnding(l *play.Line) (ending, error) {
	switch {
	case l.Take("power"):
		if err := l.Expect("lost"); err != nil {
			return "", err
		}
		l.LosesPower()
		if l.Take("halfway") {
			return endHalfway, nil
		}
		return endPower, nil
	case !l.Take("server"):
		return "", fmt.Errorf("expected server killed, server terminates or power lost after until")
	}
	l.EndsServer()
	switch {
	case l.Take("killed"):
		return endKilled, nil
	case l.Take("terminates"):
		return endTerminates, nil
	}
	return "", fmt.Errorf("expected killed or terminates after until server")
}

// readCatches reads whether what was heard before may not come again.
func readCatches(l *play.Line) (once bool, err error) {
	err = l.Expect("up")
	return l.Take("once"), err
}

// readPowerLost reads whether the power is lost while the disk is being written.
func readPowerLost(l *play.Line) (halfway bool, err error) {
	l.LosesPower()
	return l.Take("halfway"), nil
}
