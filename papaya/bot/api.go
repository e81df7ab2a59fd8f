package bot

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"interleave/papaya/hall"
)

//go:embed openapi.yaml
var document []byte

func serveDocument(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/yaml")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(document) // the client has gone
}

// Limits of a page of messages.
const (
	defaultPage = 50
	maxPage     = 200
)

var (
	errForbidden = refusal{http.StatusForbidden, "the token is not for that"}
	errLimit     = refusal{http.StatusBadRequest, "limit: expected a number from 1 to 200"}
	errID        = refusal{http.StatusBadRequest, "after and before: expected the id of a message"}
	errWait      = refusal{http.StatusBadRequest, "wait: expected seconds, from 0 to 15"}
	errChanges   = refusal{http.StatusBadRequest, "changes: expected true or false"}
	errWaitFor   = refusal{http.StatusBadRequest, "wait: expected after too, and not before"}
	errOneText   = refusal{http.StatusBadRequest, `expected {"text": "..."}, and nothing else`}
	errJSON      = refusal{http.StatusUnsupportedMediaType, "expected application/json"}
)

// A shownRoom is a room as the API shows it.
type shownRoom struct {
	Name  string    `json:"name"`
	Topic string    `json:"topic"`
	Here  int       `json:"here"`
	Away  int       `json:"away"`
	Since time.Time `json:"since"`
}

// authorized returns the token of a request to the API, after it was counted.
func (s *Server) authorized(r *http.Request) (Token, error) {
	secret := Bearer(r)
	if secret == "" {
		return Token{}, errToken
	}
	return s.find(r, secret, Bot, errToken)
}

// rooms lists the rooms of the token that exist.
func (s *Server) rooms(r *http.Request) (int, any, error) {
	t, err := s.authorized(r)
	if err != nil {
		return 0, nil, err
	}
	if wait, ok := s.reads.Take(t.ID); !ok {
		return 0, nil, limited{wait}
	}
	list := []shownRoom{}
	for _, name := range t.Rooms {
		room, ok, err := s.chat.Room(r.Context(), name)
		if err != nil {
			return 0, nil, err
		}
		one := shownRoom{room.Name, room.Topic, room.Here, room.Away, room.Since}
		if ok && !slices.Contains(list, one) { // the token may know two names of it
			list = append(list, one)
		}
	}
	return http.StatusOK, map[string]any{"rooms": list}, nil
}

// room returns the name of the room of a request, which has it without its first #. The token may
// know the room by a name that it had before.
func (s *Server) room(r *http.Request, t Token) (string, error) {
	name := "#" + r.PathValue("room")
	if t.Knows(name) {
		return name, nil
	}
	asked, there, err := s.chat.Room(r.Context(), name)
	for i := 0; there && err == nil && i < len(t.Rooms); i++ {
		var own hall.Room
		var ok bool
		if own, ok, err = s.chat.Room(r.Context(), t.Rooms[i]); ok && own.Name == asked.Name {
			return name, nil
		}
	}
	if err == nil {
		err = errForbidden
	}
	return "", err
}

// messages returns a page of a room, for which it may wait.
func (s *Server) messages(r *http.Request) (int, any, error) {
	t, err := s.authorized(r)
	if err != nil {
		return 0, nil, err
	}
	if wait, ok := s.reads.Take(t.ID); !ok {
		return 0, nil, limited{wait}
	}
	name, err := s.room(r, t)
	if err == nil && !t.Read {
		err = errForbidden
	}
	page, wait := hall.Page{}, time.Duration(0)
	if err == nil {
		page, wait, err = pageOf(r.URL.RawQuery)
	}
	if err != nil {
		return 0, nil, err
	}
	list, err := s.chat.Messages(r.Context(), name, page)
	if err == nil && len(list) == 0 && wait > 0 {
		list, err = s.await(r.Context(), t, name, page, wait)
	}
	switch {
	case errors.Is(err, hall.ErrNoRoom):
		err = errRoom
	case errors.Is(err, hall.ErrNoMessage):
		err = errID
	}
	return http.StatusOK, map[string]any{"messages": list}, err
}

// pageOf parses the query after=ID&before=ID&limit=N&wait=SECONDS&changes=true. A name that is
// empty or twice is a mistake.
func pageOf(query string) (p hall.Page, wait time.Duration, err error) {
	p = hall.Page{Limit: defaultPage}
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, 0, refusal{http.StatusBadRequest, "the query is malformed"}
	}
	for name, list := range values {
		if len(list) > 1 || list[0] == "" {
			return p, 0, refusal{http.StatusBadRequest, "the query has something empty, or twice"}
		}
		switch name {
		case "after":
			p.After = list[0]
		case "before":
			p.Before = list[0]
		case "limit":
			if p.Limit, err = strconv.Atoi(list[0]); err != nil || p.Limit < 1 ||
				p.Limit > maxPage {
				return p, 0, errLimit
			}
		case "wait":
			seconds, err := strconv.Atoi(list[0])
			if err != nil || seconds < 0 || seconds > maxWait {
				return p, 0, errWait
			}
			wait = time.Duration(seconds) * time.Second
		case "changes":
			if p.Changes = list[0] == "true"; !p.Changes && list[0] != "false" {
				return p, 0, errChanges
			}
		}
	}
	if wait > 0 && (p.After == "" || p.Before != "") {
		return p, 0, errWaitFor
	}
	return p, wait, nil
}

// send posts a text to a room.
func (s *Server) send(r *http.Request) (int, any, error) {
	t, err := s.authorized(r)
	if err != nil {
		return 0, nil, err
	}
	if wait, ok := s.posts.Take(t.ID); !ok {
		return 0, nil, limited{wait}
	}
	name, err := s.room(r, t)
	if err == nil && !t.Send {
		err = errForbidden
	}
	if err != nil {
		return 0, nil, err
	}
	lines, err := textOf(r)
	if err == nil {
		err = s.post(r.Context(), t, name, lines)
	}
	return http.StatusCreated, sent{len(lines)}, err
}

// textOf returns the lines of a body {"text": "..."}.
func textOf(r *http.Request) ([]string, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" {
		return nil, errJSON
	}
	data, err := body(r)
	if err != nil {
		return nil, err
	}
	if len(data) > maxText {
		return nil, errLarge
	}
	var p struct {
		Text *string `json:"text"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || p.Text == nil {
		return nil, errOneText
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errOneText
	}
	return visible(*p.Text)
}
