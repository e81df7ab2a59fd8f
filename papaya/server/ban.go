package server

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"interleave/papaya/bans"
	"interleave/papaya/hall"
)

// bars has what other goroutines than the owner of the hall need about bans: the list, and the HTTP
// requests that are being answered, so that a ban of their address can end them.
type bars struct {
	list    atomic.Pointer[bans.List] // nil before the state is read
	changes uint64                    // of the hall's list; for the owner of the hall
	reports atomic.Int64              // those that are open

	mu       sync.Mutex
	requests map[*request]bool // those that are being answered
}

// A request is one of HTTP, by the address of its client.
type request struct {
	from netip.Addr
	end  func() // it ends the request soon
}

// bannable returns an address as bans know it. It is not valid if it cannot be banned: clients on
// this machine, and reverse proxies, which stand for many clients.
func (s *server) bannable(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.IsLoopback() || s.config.Proxies.Contains(a) {
		return netip.Addr{}
	}
	return a
}

// spared says whether a network has no address but those of reverse proxies.
func (s *server) spared(n netip.Prefix) bool {
	for _, p := range s.config.Proxies {
		if p.Contains(n.Addr()) && n.Bits() >= p.Bits() {
			return true
		}
	}
	return false
}

// noteBan writes to the server's log what has happened to a ban. What the log has from before the
// start was noted then.
func (s *server) noteBan(what string, b bans.Ban) {
	if s.begun {
		s.config.Logger.Info("ban "+what, "target", b.Target.String(), "by", b.By, "reason", b.Why,
			"until", b.End())
	}
}

// mayReport asks Config.Report whether a client may report something now.
func (s *server) mayReport(c *hall.Client) bool {
	o := s.conns[c.ID]
	return o == nil || s.config.Report(o.net.RemoteAddr(), c.Account())
}

// noteReport writes to the server's log that a report has come, but not what is in it.
func (s *server) noteReport(id uint64) {
	if s.begun {
		s.config.Logger.Info("a user has sent a report to the operators", "report", id)
	}
}

// countBanned counts what a ban has refused or ended. Any goroutine may call it.
func (s *server) countBanned() {
	if f := s.config.Metrics.Banned; f != nil {
		f()
	}
}

// followBans logs the ends of sessions whose address is banned now, and tells the other goroutines
// of the bans. Its client may have gone already.
func (s *server) followBans() {
	for _, e := range s.hall.Expelled() {
		c := s.conns[e.Client]
		if c != nil {
			c.ending = true
		}
		s.push(words{conn: c}, e)
	}
	list, changes := s.hall.Bans()
	if s.bars.list.Load() != nil && changes == s.bars.changes {
		return
	}
	s.bars.changes = changes
	s.bars.list.Store(&list)
	s.bars.mu.Lock()
	defer s.bars.mu.Unlock()
	for r := range s.bars.requests {
		if _, banned := s.bannedFrom(r.from); banned {
			r.end()
		}
	}
}

// bans returns the list. Any goroutine may call it.
func (s *server) bans() bans.List {
	if list := s.bars.list.Load(); list != nil {
		return *list
	}
	return nil
}

// bannedFrom returns the ban of an address that bannable has returned. Any goroutine may call it.
func (s *server) bannedFrom(a netip.Addr) (bans.Ban, bool) {
	return s.bans().Address(a, s.config.Now().UnixMilli())
}

// noteRequest notes a request. The caller calls end when it is answered.
func (s *server) noteRequest(r *request) (end func()) {
	s.bars.mu.Lock()
	defer s.bars.mu.Unlock()
	if s.bars.requests == nil {
		s.bars.requests = map[*request]bool{}
	}
	s.bars.requests[r] = true
	return func() {
		s.bars.mu.Lock()
		defer s.bars.mu.Unlock()
		delete(s.bars.requests, r)
	}
}

// isSocket says whether a request is for the WebSocket. Its client is told of a ban through that,
// as clients of IRC are: a browser does not show its user the HTTP answer to a WebSocket.
func isSocket(r *http.Request) bool {
	return r.URL.Path == "/socket" || r.URL.Path == "/" && upgrades(r)
}

// guard refuses requests of clients whose address is banned. A ban that comes while a request is
// answered ends it.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var from netip.Addr
		if port, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			from = s.bannable(port.Addr())
		}
		if !from.IsValid() || isSocket(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		connection := http.NewResponseController(w)
		count := sync.OnceFunc(s.countBanned) // a ban may come between the two
		defer s.noteRequest(&request{from, func() {
			cancel()
			count()
			_ = connection.SetReadDeadline(time.Unix(1, 0)) // tests have writers without it
			_ = connection.SetWriteDeadline(time.Unix(1, 0))
		}})()
		if b, banned := s.bannedFrom(from); banned {
			count()
			http.Error(w, b.Text(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Bans lists the bans of the whole server that have not ended.
func (a *Admin) Bans(ctx context.Context) (list []bans.Ban, err error) {
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		list = h.OpenBans()
		return hall.Entry{}, false
	})
	return list, err
}

// ErrNoBan is returned for a ban that is to be removed and does not exist.
var ErrNoBan = errors.New("there is no such ban")

// Ban bans a target from the whole server; a length of 0 is for ever.
func (a *Admin) Ban(ctx context.Context, t bans.Target, length time.Duration,
	by, why string) error {
	var refused error
	if err := a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		refused = h.CheckBan(t)
		return hall.Entry{}, false
	}); err != nil || refused != nil {
		return errors.Join(err, refused)
	}
	return a.Order(ctx, hall.AddBan, t.String(), strconv.FormatInt(length.Milliseconds(), 10), by,
		why)
}

// Unban removes a ban.
func (a *Admin) Unban(ctx context.Context, t bans.Target) error {
	found := false
	if err := a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		_, _, found = h.OpenBans().Without(t)
		return hall.Entry{}, false
	}); err != nil {
		return err
	}
	if !found {
		return ErrNoBan
	}
	return a.Order(ctx, hall.RemoveBan, t.String())
}

// running returns the server; nil before it runs.
func (a *Admin) running() *server {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.server
}

// Banned says whether an account is banned, and what it is told then.
func (a *Admin) Banned(account string) (why string, banned bool) {
	s := a.running()
	if s == nil {
		return "", false
	}
	b, banned := s.bans().Account(account, s.config.Now().UnixMilli())
	return b.Text(), banned
}

// ReportCount returns the number of open reports.
func (a *Admin) ReportCount() int {
	s := a.running()
	if s == nil {
		return 0
	}
	return int(s.bars.reports.Load())
}

// BanCount returns the number of bans.
func (a *Admin) BanCount() int {
	s := a.running()
	if s == nil {
		return 0
	}
	open, _ := s.bans().At(s.config.Now().UnixMilli())
	return len(open)
}
