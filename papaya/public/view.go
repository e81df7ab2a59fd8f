package public

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// A view is kept for all readers of a room: for freshTime whatever happens, and then until there is
// news, but not for longer than keptTime, since messages get too old. All are guesses.
const (
	freshTime = time.Second
	keptTime  = time.Minute
	pageSize  = 100 // messages
)

// A line is a message as readers see it.
type line struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	From   string    `json:"from"`
	Kind   string    `json:"kind"` // message, action or notice
	Text   string    `json:"text"` // its lines are separated by LF
	Edited bool      `json:"edited,omitempty"`
}

// Clock is the time of a message for the eye. The page's script has the same form.
func (l line) Clock() string { return l.Time.UTC().Format("2006-01-02 15:04") }

// Stamp is the time of a message for programs.
func (l line) Stamp() string { return l.Time.UTC().Format(time.RFC3339) }

// A content is what readers see of a room.
type content struct {
	Tag      string `json:"tag"` // of all else
	Room     string `json:"room"`
	Topic    string `json:"topic"`
	Messages []line `json:"messages"`
}

// A view is a page of messages, as they were at a time.
type view struct {
	content
	Older string // the id before which there may be more messages; empty: there are none
	news  <-chan struct{}
	fresh time.Time // until then it counts as it is
	kept  time.Time // it does not count any longer
}

// A room has the last view of one. Readers that need a new one wait for the first of them.
type room struct {
	mu   sync.Mutex
	last *view
}

// view returns the last messages of a room.
func (s *Server) view(ctx context.Context, name string) (*view, error) {
	folded := irc.Lower(name)
	s.mu.Lock()
	r := s.rooms[folded] // the settings bound their number
	if r == nil {
		r = &room{}
		s.rooms[folded] = r
	}
	s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && r.last.counts(s.Now()) {
		return r.last, nil
	}
	v, err := s.load(ctx, name, "")
	r.last = v
	return v, err
}

func (v *view) counts(now time.Time) bool {
	if now.Before(v.fresh) {
		return true
	}
	select {
	case <-v.news:
		return false
	default:
		return now.Before(v.kept)
	}
}

// load reads messages of a room: those before one, or the last ones. A room into which not
// everybody may come is not shown, and neither is one that has the name no more.
func (s *Server) load(ctx context.Context, name, before string) (*view, error) {
	now := s.Now()
	v := &view{news: s.Chat.News(), fresh: now.Add(freshTime), kept: now.Add(keptTime)}
	r, ok, err := s.Chat.Room(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case !ok, irc.Lower(r.Name) != irc.Lower(name), isClosed(r.Modes):
		return nil, errNone
	}
	list, err := s.Chat.Messages(ctx, name, hall.Page{Before: before, Limit: pageSize})
	switch {
	case errors.Is(err, hall.ErrNoRoom), errors.Is(err, hall.ErrNoMessage):
		return nil, errNone
	case err != nil:
		return nil, err
	}
	age := s.Age()
	for _, m := range list {
		if age == 0 || now.Sub(m.Time) <= age {
			v.Messages = append(v.Messages, lineOf(m))
		}
	}
	if len(v.Messages) == pageSize { // none was too old
		v.Older = v.Messages[0].ID
	}
	v.Room, v.Topic = r.Name, irc.Plain(r.Topic)
	data, err := json.Marshal(v.content)
	v.Tag = tagOf(data)
	return v, err
}

// isClosed says whether modes keep people out of a room or hide it: invitations, a key, secret.
func isClosed(modes string) bool {
	letters, _, _ := strings.Cut(modes, " ")
	return strings.ContainsAny(letters, "iks")
}

func lineOf(m hall.Message) line {
	lines := strings.Split(m.Text, "\n")
	for i, l := range lines {
		lines[i] = irc.Plain(l)
	}
	return line{m.ID, m.Time, irc.Plain(m.From), m.Kind, strings.Join(lines, "\n"),
		m.Edited != nil}
}

// tagOf returns a short name of some data.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
