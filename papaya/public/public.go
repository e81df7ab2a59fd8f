// Package public shows rooms to everybody, without an account: those that the owner of the server
// names. Readers see what was said, also while it is being said, and nobody sees them. They see no
// members, and may say nothing.
//
// A page is made from the room as it is now. So what was changed or removed in the chat is changed
// or removed here, too, for readers that have the page open as well.
package public

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"

	"interleave/papaya/bot"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/limit"
	"interleave/papaya/server"
)

//go:embed page
var files embed.FS

var pages = template.Must(template.ParseFS(files, "page/*.html"))

// Chat is what readers may see of the chat. server.Admin implements it.
type Chat interface {
	// Room returns a room; ok is false if there is none of that name.
	Room(ctx context.Context, name string) (room hall.Room, ok bool, err error)
	Messages(ctx context.Context, room string, p hall.Page) ([]hall.Message, error)
	// News is closed when something may have changed in some room, or nothing will any more.
	News() <-chan struct{}
}

// Options are what a Server needs.
type Options struct {
	Chat    Chat
	Network string          // the name of the network, for titles
	Rooms   func() []string // the names of the rooms that everybody may read
	// Age is that of the oldest messages that are shown; 0 is no limit.
	Age func() time.Duration
	// Index says whether search engines may have the pages.
	Index   func() bool
	Readers int // how many may wait for messages at a time
	Logger  *slog.Logger
	Now     func() time.Time
}

// Limits of requests. All are guesses.
const (
	requestBurst = 60 // of one address at once
	requestEvery = time.Second
	maxEach      = 10 // readers of one address that wait
	requestTime  = 30 * time.Second
	waitTime     = 15 * time.Second
)

// A Server shows the rooms at /public/ and below it. Any goroutine may use it.
type Server struct {
	Options
	requests *limit.Rate
	readers  *limit.Connections
	mu       sync.Mutex
	rooms    map[string]*room // by folded name
}

// NewServer returns a Server.
func NewServer(o Options) *Server {
	return &Server{Options: o, requests: limit.NewRate(requestBurst, requestEvery, o.Now),
		readers: limit.NewConnections(o.Readers, maxEach), rooms: map[string]*room{}}
}

// Handler serves all paths of readers. Links within the pages are relative, so it may be below any
// path.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /public", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "public/")
		w.WriteHeader(http.StatusMovedPermanently)
	})
	mux.HandleFunc("GET /public/{$}", s.answer(s.list))
	mux.HandleFunc("GET /public/{room}", s.answer(s.show))
	mux.HandleFunc("GET /public/{room}/live", s.answer(s.live))
	mux.HandleFunc("GET /public.css", s.asset("text/css; charset=utf-8"))
	mux.HandleFunc("GET /public.js", s.asset("text/javascript; charset=utf-8"))
	return mux
}

// errNone is the error of a room that is not for everybody, whether there is one or not.
var errNone = errors.New("there is no such page")

// errBusy is the error of a reader too many.
var errBusy = errors.New("too many readers: try again later")

// answer makes a handler of a function, which has answered if it returns no error.
func (s *Server) answer(do func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		// A reader that reads or writes slowly holds no goroutine for ever. Tests have writers
		// without deadlines.
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Now().Add(requestTime))
		_ = c.SetWriteDeadline(time.Now().Add(requestTime))
		s.head(w.Header())
		if wait, ok := s.requests.Take(limit.Key(bot.Address(r))); !ok {
			bot.RetryAfter(w.Header(), wait)
			refuse(w, http.StatusTooManyRequests, "too many requests")
			return
		}
		switch err := do(w, r.WithContext(ctx)); {
		case err == nil:
		case errors.Is(err, errNone):
			refuse(w, http.StatusNotFound, err.Error())
		case errors.Is(err, errBusy):
			bot.RetryAfter(w.Header(), waitTime)
			refuse(w, http.StatusServiceUnavailable, err.Error())
		case r.Context().Err() != nil: // the reader has gone
		case errors.Is(err, server.ErrNotServing): // it has logged that it ends
			refuse(w, http.StatusServiceUnavailable, err.Error())
		default:
			s.Logger.Error("a public room could not be shown", "reason", err)
			refuse(w, http.StatusServiceUnavailable, "that cannot be done at the moment")
		}
	}
}

// policy allows a page its own style and script, and to ask its own server. It allows nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

// head sets what all answers have.
func (s *Server) head(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !s.Index() {
		h.Set("X-Robots-Tag", "noindex, nofollow")
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}

// asset serves the file of the page that has the request's name.
func (s *Server) asset(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := files.ReadFile("page" + path.Clean(r.URL.Path))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		s.head(w.Header())
		send(w, r, kind, tagOf(data), time.Hour, data)
	}
}

// send answers with a body that may be cached for a time, or says that the reader has it.
func send(w http.ResponseWriter, r *http.Request, kind, tag string, age time.Duration,
	data []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "public, max-age="+seconds(age))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data)) // answers If-None-Match
}

// render answers with a page.
func render(w http.ResponseWriter, r *http.Request, name string, age time.Duration,
	content any) error {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, content); err != nil {
		return err
	}
	send(w, r, "text/html; charset=utf-8", tagOf(b.Bytes()), age, b.Bytes())
	return nil
}

// How long others may keep a page: that of a room as it is now, and those of earlier messages. What
// is removed from the chat may be shown for so long. Both are guesses.
const (
	newestAge = 5 * time.Second
	olderAge  = time.Minute
)

// A listedRoom is a room in the list.
type listedRoom struct{ Name, Path, Topic string }

// list shows the rooms that there are.
func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	names := s.Rooms()
	if len(names) == 0 {
		return errNone
	}
	content := struct {
		Network string
		Index   bool
		Rooms   []listedRoom
	}{Network: s.Network, Index: s.Index()}
	for _, name := range names {
		v, err := s.view(r.Context(), name)
		if errors.Is(err, errNone) {
			continue
		}
		if err != nil {
			return err
		}
		content.Rooms = append(content.Rooms, listedRoom{v.Room, "./" + pathOf(v.Room), v.Topic})
	}
	return render(w, r, "list.html", olderAge, content)
}

// pathOf returns the last part of a room's path.
func pathOf(name string) string { return url.PathEscape(name[1:]) }

// named returns the name of a request's room, if everybody may read it.
func (s *Server) named(r *http.Request) (string, error) {
	name := "#" + r.PathValue("room")
	for _, one := range s.Rooms() {
		if irc.Lower(one) == irc.Lower(name) {
			return one, nil
		}
	}
	return "", errNone
}

// show shows a room: its last messages, or those before one.
func (s *Server) show(w http.ResponseWriter, r *http.Request) error {
	name, err := s.named(r)
	if err != nil {
		return err
	}
	before, age := r.URL.Query().Get("before"), newestAge
	var v *view
	if before == "" {
		v, err = s.view(r.Context(), name)
	} else {
		age = olderAge
		v, err = s.load(r.Context(), name, before)
	}
	if err != nil {
		return err
	}
	return render(w, r, "room.html", age, struct {
		*view
		Network, Live, Chat string
		Index, Newest       bool
	}{v, s.Network, pathOf(v.Room) + "/live", "../#" + url.QueryEscape(v.Room), s.Index(),
		before == ""})
}

// live answers with the last messages of a room as soon as they are others than the reader has, or
// with none after a time.
func (s *Server) live(w http.ResponseWriter, r *http.Request) error {
	name, err := s.named(r)
	if err != nil {
		return err
	}
	leave, err := s.readers.Enter(bot.Address(r))
	if err != nil {
		return errBusy
	}
	defer leave()
	over := time.NewTimer(waitTime)
	defer over.Stop()
	for {
		v, err := s.view(r.Context(), name)
		switch {
		case err != nil:
			return err
		case v.Tag != r.URL.Query().Get("tag"):
			bot.Reply(w, http.StatusOK, v.content)
			return nil
		}
		if ended, err := await(r.Context(), v, over.C, s.Now); ended || err != nil {
			if err == nil {
				w.Header().Set("Cache-Control", "no-store")
				w.WriteHeader(http.StatusNoContent)
			}
			return err
		}
		if !slices.Contains(s.Rooms(), name) { // the settings have changed
			return errNone
		}
	}
}

// await waits until there is news since a view was read, and the view may be read again. ended says
// that over has come before.
func await(ctx context.Context, v *view, over <-chan time.Time,
	now func() time.Time) (ended bool, err error) {
	select {
	case <-v.news:
	case <-over:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case <-time.After(v.fresh.Sub(now())):
	case <-over:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}
