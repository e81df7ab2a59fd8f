package file

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/bot"
	"interleave/papaya/irc"
	"interleave/papaya/limit"
)

// Accounts says whose an upload is: the name of an account, or the nick of a program. A wrong name,
// password or token is account.ErrWrong.
type Accounts interface {
	Password(ctx context.Context, name string, password account.Secret,
		from netip.Addr) (owner string, err error)
	Token(ctx context.Context, token account.Secret) (owner string, err error)
	// Browser is for the token of a browser that stays signed in.
	Browser(ctx context.Context, token account.Secret, from netip.Addr) (owner string, err error)
}

// Options are what a Server needs.
type Options struct {
	Store    *Store
	Accounts Accounts
	// Base is the URL of the page, without a slash at its end: "https://chat.example.org".
	Base string
	// Origins are the hosts of pages that may upload, beside the server's own host.
	Origins []string
	// Encrypted says whether nobody on the way can read a request.
	Encrypted func(*http.Request) bool
	// BrowserToken returns the token of a browser that stays signed in, if the request is one of
	// the server's own page; else it is empty. nil: no browser has one.
	BrowserToken func(*http.Request) string
	Logger       *slog.Logger
	// Banned says whether an account is banned, and why. nil: none is.
	Banned func(account string) (why string, banned bool)
	// Count is told the result of each upload: "stored", "refused" or "failed".
	Count func(result string)
	Now   func() time.Time
}

// Limits of requests. An account may send 30 files at once and then one in 5 s, four of them at a
// time. An address may name 20 wrong passwords or tokens at once, and then one in a second; the
// accounts have a limit of their own. All are guesses.
const (
	uploadBurst, wrongBurst = 30, 20
	uploadEvery, wrongEvery = 5 * time.Second, time.Second
	maxEach, maxAtOnce      = 4, 32 // uploads of an account and of all, at a time
)

// linkPath stands in a link before its token.
const linkPath = "/file/"

// A Server takes files at /upload, serves them below /file/, and lets their owners list and delete
// them there and at /files.
type Server struct {
	Options
	uploads, managed, wrong *limit.Rate
	mu                      sync.Mutex
	running                 map[string]int // uploads that are under way, by folded owner
	all                     int
}

// NewServer returns a Server.
func NewServer(o Options) *Server {
	return &Server{Options: o, running: map[string]int{},
		uploads: limit.NewRate(uploadBurst, uploadEvery, o.Now),
		managed: limit.NewRate(manageBurst, manageEvery, o.Now),
		wrong:   limit.NewRate(wrongBurst, wrongEvery, o.Now)}
}

// UploadURL is the URL that files are posted to, which clients get as FILEHOST. It is empty if no
// files are taken.
func (s *Server) UploadURL() string {
	if s.Store.limits().Size == 0 {
		return ""
	}
	return s.Base + "/upload"
}

// Handler serves all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload", s.upload)
	mux.HandleFunc("GET "+linkPath+"{token}/{name}", s.fetch)
	mux.HandleFunc("DELETE "+linkPath+"{token}/{name}", s.deleteLink)
	mux.HandleFunc("GET /files", s.list)
	mux.HandleFunc("DELETE /files/{id}", s.deleteID)
	for path, methods := range map[string]string{"/upload": "POST", "/files": "GET, HEAD",
		linkPath + "{token}/{name}": "GET, HEAD, DELETE", "/files/{id}": "DELETE"} {
		mux.HandleFunc("OPTIONS "+path, s.options(methods))
	}
	return mux
}

// options says what may be done at a path, to browsers that ask for another page, too (CORS).
func (s *Server) options(methods string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.permit(w, r, methods)
		h := w.Header()
		h.Set("Allow", "OPTIONS, "+methods)
		if methods == http.MethodPost {
			h.Set("Accept-Post", "*/*")
			s.tellLimit(h)
		}
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	}
}

// tellLimit tells the limit of a file (draft-ietf-httpbis-resumable-upload, Upload-Limit).
func (s *Server) tellLimit(h http.Header) {
	h.Set("Upload-Limit", "max-size="+strconv.FormatInt(s.Store.limits().Size, 10))
}

// permit lets pages of the allowed origins use methods.
func (s *Server) permit(w http.ResponseWriter, r *http.Request, methods string) {
	h := w.Header()
	h.Add("Vary", "Origin")
	from := r.Header.Get("Origin")
	u, err := url.Parse(from)
	if err != nil || !slices.ContainsFunc(s.Origins,
		func(host string) bool { return strings.EqualFold(host, u.Hostname()) }) {
		return
	}
	h.Set("Access-Control-Allow-Origin", from)
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Disposition, Content-Type")
	h.Set("Access-Control-Expose-Headers", "Location, Upload-Limit")
}

// An uploaded file is the body of a successful answer.
type uploaded struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// A failure is the body of every other answer.
type failure struct {
	Error string `json:"error"`
}

// upload takes a file, and answers with its link.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	s.permit(w, r, http.MethodPost)
	s.tellLimit(w.Header())
	i, link, err := s.receive(w, r)
	if err != nil {
		s.Count(s.refuse(w, r, err, "a file could not be stored"))
		return
	}
	s.Count("stored")
	s.Logger.Debug("a file was uploaded", "file", i.ID, "owner", i.Owner, "size", i.Size, "type",
		i.Type)
	w.Header().Set("Location", link)
	bot.Reply(w, http.StatusCreated, uploaded{link, i.Name, i.Type, i.Size})
}

// refuse answers a request that was not done, and returns what became of it: "refused", or "failed"
// if that is the server's fault. failed is what the server's log then says.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error,
	failed string) (result string) {
	h := w.Header()
	answer := refusal{http.StatusServiceUnavailable, "that cannot be done at the moment"}
	result = "failed"
	many, tooMany := errors.AsType[limited](err)
	known, refused := errors.AsType[refusal](err)
	switch {
	case tooMany:
		bot.RetryAfter(h, many.wait)
		answer, result = refusal{http.StatusTooManyRequests, many.Error()}, "refused"
	case refused:
		answer, result = known, "refused"
	default:
		s.Logger.Error(failed, "reason", err)
	}
	switch answer.status {
	case http.StatusInsufficientStorage:
		s.Logger.Warn("a file was not stored", "reason", answer.why)
	case http.StatusUnauthorized:
		challenge(h, r)
	}
	bot.Reply(w, answer.status, failure{answer.why})
	return result
}

// challenge names the ways to authenticate (RFC 9110, 11.6.1). A browser would ask the user for a
// password by a window of its own if a script's request got the challenge Basic.
func challenge(h http.Header, r *http.Request) {
	if r.Header.Get("Sec-Fetch-Mode") == "" {
		h.Add("WWW-Authenticate", `Basic realm="papaya", charset="UTF-8"`)
	}
	h.Add("WWW-Authenticate", "Bearer")
}

var (
	errOff  = refusal{http.StatusForbidden, "this server takes no files"}
	errOpen = refusal{http.StatusForbidden, "passwords and tokens need an encrypted connection"}
	errWho  = refusal{http.StatusUnauthorized, "sign in to an account to send and delete files"}
	errPass = refusal{http.StatusUnauthorized, "the name, the password or the token is wrong"}
)

// owner returns whose a request is. Wrong passwords and tokens count against the address.
func (s *Server) owner(r *http.Request) (owner string, err error) {
	name, password, basic := r.BasicAuth()
	token := bot.Bearer(r)
	browser := ""
	if s.BrowserToken != nil && !basic && token == "" {
		browser = s.BrowserToken(r)
	}
	address := bot.Address(r)
	switch {
	case !basic && token == "" && browser == "":
		return "", errWho
	case !address.IsLoopback() && !s.Encrypted(r):
		return "", errOpen
	}
	key := limit.Key(address)
	if wait, ok := s.wrong.Take(key); !ok {
		return "", limited{wait}
	}
	switch {
	case basic:
		owner, err = s.Accounts.Password(r.Context(), name, account.NewSecret(password), address)
	case token != "":
		owner, err = s.Accounts.Token(r.Context(), account.NewSecret(token))
	default:
		owner, err = s.Accounts.Browser(r.Context(), account.NewSecret(browser), address)
	}
	if errors.Is(err, account.ErrWrong) {
		return "", errPass
	}
	s.wrong.Back(key)
	if many, ok := errors.AsType[*account.LimitError](err); ok {
		return "", limited{many.Wait}
	}
	if errors.Is(err, account.ErrBusy) {
		return "", errBusy
	}
	if err == nil && s.Banned != nil {
		if why, banned := s.Banned(owner); banned {
			return "", refusal{http.StatusForbidden, why}
		}
	}
	return owner, err
}

// enter counts an upload that is under way. The caller calls leave at its end.
func (s *Server) enter(owner string) (leave func(), err error) {
	owner = irc.Lower(owner)
	if wait, ok := s.uploads.Take(owner); !ok {
		return nil, limited{wait}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[owner] >= maxEach || s.all >= maxAtOnce {
		s.uploads.Back(owner)
		return nil, limited{time.Second}
	}
	s.running[owner]++
	s.all++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.running[owner]--; s.running[owner] == 0 {
			delete(s.running, owner)
		}
	}, nil
}

// isTimeout says whether an error is that of a deadline.
func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
