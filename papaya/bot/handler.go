package bot

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
	"interleave/papaya/limit"
)

// Chat is what programs may do with the chat. server.Admin implements it.
type Chat interface {
	// Room returns a room; ok is false if there is none of that name.
	Room(ctx context.Context, name string) (room hall.Room, ok bool, err error)
	Messages(ctx context.Context, room string, p hall.Page) ([]hall.Message, error)
	// News is closed when there may be new messages, or none will come any more.
	News() <-chan struct{}
	Post(ctx context.Context, room, from string, lines []string) error
}

// Limits of requests. A token may post 30 times at once and then once in 2 s, and read 60 times and
// then once in a second. An address may name 20 wrong tokens at once, and then one in a second. All
// are guesses.
const (
	maxBody     = 1 << 20 // bytes: a push of many commits
	maxText     = 64 << 10
	bodyTime    = 10 * time.Second
	requestTime = 20 * time.Second

	postBurst, readBurst, wrongBurst = 30, 60, 20
	postEvery, readEvery, wrongEvery = 2 * time.Second, time.Second, time.Second
)

// A Server answers programs: webhooks at /hook/TOKEN, and the API below /api.
type Server struct {
	tokens              *Tokens
	chat                Chat
	logger              *slog.Logger
	posts, reads, wrong *limit.Rate
	waiting             waiting
}

// NewServer returns a Server. Tests pass a clock of their own.
func NewServer(tokens *Tokens, chat Chat, logger *slog.Logger, now func() time.Time) *Server {
	return &Server{tokens: tokens, chat: chat, logger: logger,
		posts: limit.NewRate(postBurst, postEvery, now),
		reads: limit.NewRate(readBurst, readEvery, now),
		wrong: limit.NewRate(wrongBurst, wrongEvery, now)}
}

// Handler serves all paths of programs.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook/{token}", s.answer(s.hook))
	mux.HandleFunc("GET /api/openapi.yaml", serveDocument)
	mux.HandleFunc("GET /api/rooms", s.answer(s.rooms))
	mux.HandleFunc("GET /api/rooms/{room}/messages", s.answer(s.messages))
	mux.HandleFunc("POST /api/rooms/{room}/messages", s.answer(s.send))
	return mux
}

// A failure is the body of every answer that is no success.
type failure struct {
	Error string `json:"error"`
}

// answer makes a handler of a function that returns the status and the body of a success, or an
// error.
func (s *Server) answer(do func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		// A client that sends its body slowly must not hold a goroutine for ever. The end of the
		// deadline also ends requests that wait. Tests have writers without deadlines.
		limit := bodyTime
		if r.Method == http.MethodGet {
			limit = requestTime
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit))
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, body, err := do(r)
		if err != nil {
			s.refuse(w, err)
			return
		}
		Reply(w, status, body)
	}
}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	if l, ok := errors.AsType[limited](err); ok {
		RetryAfter(w.Header(), l.wait)
		Reply(w, http.StatusTooManyRequests, failure{"too many requests"})
		return
	}
	status, why := refused(err)
	if status == http.StatusServiceUnavailable {
		s.logger.Error("a program could not be answered", "reason", err)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	Reply(w, status, failure{why})
}

// Reply answers a request with JSON, which nobody caches.
func Reply(w http.ResponseWriter, status int, body any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}

// RetryAfter says after how long a request may come again, in whole seconds (RFC 9110, 10.2.3).
func RetryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// Address returns the address that a request comes from, the zero one if it is not known.
func Address(r *http.Request) netip.Addr {
	port, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return port.Addr()
}

// limited is the error of a request too many.
type limited struct{ wait time.Duration }

func (limited) Error() string { return "too many requests" }

var (
	errToken = refusal{http.StatusUnauthorized, "expected Authorization: Bearer TOKEN"}
	errHook  = refusal{http.StatusNotFound, "there is no such webhook"}
	errRoom  = refusal{http.StatusNotFound, "there is no such room"}
	errLarge = refusal{http.StatusRequestEntityTooLarge, "that is too much"}
)

// find returns the token of a request. Wrong ones count against the address, before they are looked
// up, so that they cost nothing in a flood.
func (s *Server) find(r *http.Request, secret string, kind Kind, unknown error) (Token, error) {
	key := limit.Key(Address(r))
	if wait, ok := s.wrong.Take(key); !ok {
		return Token{}, limited{wait}
	}
	t, err := s.tokens.Find(r.Context(), account.NewSecret(secret))
	switch {
	case errors.Is(err, ErrUnknown) || err == nil && t.Kind != kind:
		return Token{}, unknown
	case err != nil:
		s.wrong.Back(key)
		return Token{}, err
	}
	s.wrong.Back(key)
	return t, nil
}

// body returns the body of a request.
func body(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errLarge
	case err != nil:
		return nil, refusal{http.StatusBadRequest, "the body could not be read"}
	}
	return data, nil
}

// post says lines in a room, which must exist.
func (s *Server) post(ctx context.Context, t Token, room string, lines []string) error {
	_, ok, err := s.chat.Room(ctx, room)
	switch {
	case err != nil:
		return err
	case !ok:
		return errRoom
	}
	s.logger.Debug("a program posts", "token", t.ID, "room", room, "lines", len(lines))
	return s.chat.Post(ctx, room, t.Nick(), lines)
}

// sent is the body of a successful post.
type sent struct {
	Lines int `json:"lines"`
}

// hook takes what is posted to a webhook.
func (s *Server) hook(r *http.Request) (int, any, error) {
	t, err := s.find(r, r.PathValue("token"), Hook, errHook)
	if err != nil {
		return 0, nil, err
	}
	if wait, ok := s.posts.Take(t.ID); !ok {
		return 0, nil, limited{wait}
	}
	data, err := body(r)
	if err != nil {
		return 0, nil, err
	}
	lines, err := payload(r.Header, data)
	if err == nil && len(lines) > 0 {
		err = s.post(r.Context(), t, t.Rooms[0], lines)
	}
	return http.StatusOK, sent{len(lines)}, err
}

// Bearer returns the token of the header Authorization (RFC 6750, 2.1).
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
