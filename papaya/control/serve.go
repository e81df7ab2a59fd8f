package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
	"interleave/papaya/metrics"
)

// A Server answers administrators. Requests for a field that is nil get an error.
type Server struct {
	Accounts Accounts
	Tokens   Tokens
	Files    Files
	Chat     Chat
	Bans     Bans
	// Settle is called after accounts were removed or renamed: the chat must know it, too.
	Settle func(ctx context.Context) error
	// Erase removes the messages of a room.
	Erase   func(ctx context.Context, room string) (lines int, err error)
	Reload  func() (Reloaded, error)
	Backup  func(ctx context.Context, w io.Writer) error
	Metrics *metrics.Set
	Logger  *slog.Logger // for changes, without passwords
}

// Limits of a request: its size in bytes, and the time to read its header. A backup may take any
// time.
const (
	maxRequest = 64 << 10
	headTime   = 10 * time.Second
)

// Serve serves l until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: headTime,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug)}
	// A client whose request is being served sees the connection end.
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the socket for papaya admin: %w", err)
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accounts/{verb}", s.accounts)
	mux.HandleFunc("POST /chat/{verb}", s.chat)
	mux.HandleFunc("POST /tokens/{verb}", s.tokens)
	mux.HandleFunc("POST /files/{verb}", s.files)
	mux.HandleFunc("POST /bans/{verb}", s.bans)
	mux.HandleFunc("POST /reload", s.reload)
	mux.HandleFunc("GET /backup", s.backup)
	mux.Handle("GET /metrics", s.metrics())
	return mux
}

// MetricsHandler serves the metrics to Prometheus.
func MetricsHandler(m *metrics.Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metrics.ContentType)
		_ = m.Write(w) // the client has gone
	})
}

func (s *Server) metrics() http.Handler {
	if s.Metrics == nil {
		return http.NotFoundHandler()
	}
	return MetricsHandler(s.Metrics)
}

// parse parses a request. It answers what is none.
func parse(w http.ResponseWriter, r *http.Request) (q request, ok bool) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&q); err != nil {
		reply(w, answer{Error: "not a request"})
		return q, false
	}
	return q, true
}

// accounts handles requests about accounts.
func (s *Server) accounts(w http.ResponseWriter, r *http.Request) {
	var q request
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		reply(w, answer{Error: "not a request"}) // the cause may contain a part of a password
		return
	}
	verb := r.PathValue("verb")
	a, err := s.account(r.Context(), verb, q)
	if err != nil {
		a.Error = err.Error()
	}
	s.Logger.Info("admin", "verb", verb, "account", q.Name, "new", q.New, "role", q.Role,
		"id", q.ID, "error", a.Error)
	reply(w, a)
}

func (s *Server) account(ctx context.Context, verb string, q request) (a answer, err error) {
	if s.Accounts == nil {
		return a, errors.New("this server has no accounts")
	}
	password := account.NewSecret(q.Password)
	switch verb {
	case "add":
		err = s.Accounts.Add(ctx, q.Name, q.Role, password)
	case "remove":
		if err = s.Accounts.Remove(ctx, q.Name); err == nil && s.Settle != nil {
			err = s.Settle(ctx)
		}
	case "rename":
		if err = s.Accounts.Rename(ctx, q.Name, q.New); err == nil && s.Settle != nil {
			err = s.Settle(ctx)
		}
	case "password":
		err = s.Accounts.SetPassword(ctx, q.Name, password)
	case "role":
		if err = s.Accounts.SetRole(ctx, q.Name, q.Role); err == nil && s.Chat != nil {
			err = s.Chat.Order(ctx, hall.GiveRole, q.Name, q.Role.Letter())
		}
	case "add-certificate":
		err = s.Accounts.AddCertificate(ctx, q.Name, q.Fingerprint)
	case "remove-certificate":
		err = s.Accounts.RemoveCertificate(ctx, q.Name, q.Fingerprint)
	case "tokens":
		a.SignIns, err = s.Accounts.TokensOf(ctx, q.Name)
	case "end-token":
		err = s.Accounts.EndToken(ctx, q.Name, q.ID)
	case "list":
		a.Accounts, err = s.Accounts.List(ctx)
	case "invite":
		var token account.Secret
		var i account.Invitation
		if token, i, err = s.Accounts.Invite(ctx, q.By, q.Role, q.Life); err == nil {
			a.Token, a.Invitations = token.Reveal(), []account.Invitation{i}
		}
	case "invitations":
		a.Invitations, err = s.Accounts.Invitations(ctx)
	case "take-back":
		err = s.Accounts.TakeBack(ctx, q.ID)
	default:
		err = fmt.Errorf("no verb %.40q", verb)
	}
	return a, err
}

func (s *Server) reload(w http.ResponseWriter, _ *http.Request) {
	if s.Reload == nil {
		reply(w, answer{Error: "this server was started without a file of settings"})
		return
	}
	done, err := s.Reload()
	a := answer{Reload: &done}
	if err != nil {
		a.Error = err.Error()
	}
	reply(w, a)
}

// trailer is the HTTP trailer with the error of a backup: when it fails, the header was sent long
// ago.
const trailer = "Papaya-Error"

func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	if s.Backup == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Trailer", trailer)
	w.Header().Set("Content-Type", "application/x-tar")
	err := s.Backup(r.Context(), w)
	text := ""
	if err != nil {
		text = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	w.Header().Set(trailer, text)
	s.Logger.Info("admin", "verb", "backup", "error", text)
}

func reply(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // the client has gone
}
