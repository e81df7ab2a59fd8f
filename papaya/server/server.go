package server

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/papaya/batch"
	"interleave/papaya/hall"
	"interleave/papaya/handshake"
)

// server is the state of one Run. The goroutine of deal owns everything but the channels.
type server struct {
	config    Config
	hall      *hall.Hall
	run       int64      // tells one start of this server from the next
	applied   uint64     // the sequence of the newest batch that the hall has applied
	from      uint64     // the offset of the text at which the first batch of the log begins
	saved     uint64     // the sequence of the newest point that saveLoop was given
	unsaved   int        // bytes of the batches since then
	unread    int        // the number of these batches
	snapshots []snapshot // owned by saveLoop, and by Run after saveLoop has ended
	lost      error      // the reason why this server cannot go on

	events  chan event     // from readers, from checks of logins and from readings
	batches chan arrived   // from the log
	results chan result    // of the append goroutine
	appends chan []byte    // to the append goroutine
	points  chan savePoint // to saveLoop
	others  chan struct{}  // to fill: another server has started

	ready   chan *conn    // to the deliver goroutines
	written chan struct{} // from the deliver goroutines, when they have nothing left to write
	// bound what reads the text at the same time
	searches, histories chan struct{}
	turns               *handshake.Turns
	secure              *tls.Config  // of all listeners, whose handshakes take turns; nil: no TLS
	loggingIn           atomic.Int32 // logins that are being checked
	savedAt             time.Time
	inLog               atomic.Uint64 // the sequence of the newest state in the log that is known
	saveTook            atomic.Int64  // how long saveLoop has taken the last time, in nanoseconds
	readers             sync.WaitGroup
	writers             sync.WaitGroup

	unwritten atomic.Int32 // clients that the deliver goroutines have not looked at yet

	// complained is when an address that is no proxy was last logged, in nanoseconds since start.
	complained atomic.Int64

	checking  bool // tokens of open connections are looked at
	checkedAt time.Time

	begun     bool
	conns     map[uint64]*conn
	next      uint64
	dirty     []*conn
	delivered int
	slow      []*conn       // slow clients, for which lines wait: see backpressure.go
	start     time.Time     // the zero of the times that are kept as durations
	now       time.Duration // the time of the event that deal works on
	log       *batch.Machine[words]
	delay     time.Duration // how long the next batch still waits for more lines
	rush      rush
	bars      bars // see ban.go
}

// An event is what another goroutine tells the goroutine that owns the hall.
type event struct {
	conn    *conn
	arrives bool
	lines   []line
	end     bool
	inOrder bool
	do      func() (hall.Entry, bool) // runs on the goroutine that owns the hall
}

// An arrived batch comes from the log.
type arrived struct {
	sequence uint64
	data     []byte
}

// eventQueue is in events. A reader waits while the queue is full. A guess.
const eventQueue = 256

// Run serves until ctx ends. Then it disconnects all clients and returns.
func Run(ctx context.Context, config Config) error {
	if config.Shared && config.Secret == (hall.Secret{}) {
		return errors.New("servers that share a log need the secret of its msgids")
	}
	config = config.defaults()
	s := &server{
		config: config, run: config.Now().UnixNano(), start: time.Now(), conns: map[uint64]*conn{},
		events: make(chan event, eventQueue), batches: make(chan arrived, 16),
		results: make(chan result, 1), appends: make(chan []byte, 1),
		points: make(chan savePoint, 1), others: make(chan struct{}, 1),
		searches: make(chan struct{}, searchesAtOnce), written: make(chan struct{}, 1),
		histories: make(chan struct{}, historiesAtOnce), ready: make(chan *conn, eventQueue),
	}
	s.turns = handshake.NewTurns(runtime.GOMAXPROCS(0), besideTime, s.crowded)
	if config.TLSConfig != nil {
		s.secure = s.turns.Config(config.TLSConfig)
	}
	if err := s.recover(ctx); err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	s.followBans()
	// The clock may have been ahead at the last start.
	s.run = max(s.run, s.hall.Run(config.Unique)+1)
	s.log = batch.New[words](config.Unique, s.run, doubtAfter)
	listeners, err := s.listen()
	if err != nil {
		return err
	}
	if s.config.Admin != nil {
		defer s.config.Admin.attach(s)()
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var all sync.WaitGroup
	if config.Shared {
		// It comes before the first batch of deal, by which others know that they can ask.
		if err := config.Log.ShareText(inner, config.Text); err != nil {
			config.Logger.Warn("other servers cannot ask for lines of the text now", "reason", err)
		}
		all.Go(func() { s.follow(inner) })
		all.Go(func() { s.fill(inner) })
	}
	if config.Index != nil {
		all.Go(func() { config.Index.Run(inner) })
	}
	all.Go(func() { s.append(inner) })
	all.Go(func() { s.syncLoop(inner) })
	all.Go(func() { s.saveLoop(inner) })
	for range min(runtime.GOMAXPROCS(0), maxWriters) {
		all.Go(s.deliver)
	}
	err = s.deal(ctx, listeners)
	close(s.ready)
	cancel()
	all.Wait()
	return errors.Join(err, s.save())
}

// recover makes the hall from the last saved state and the batches after it. It writes the text of
// these batches.
func (s *server) recover(ctx context.Context) error {
	sequence, state, err := s.config.Log.LoadState(ctx)
	if err != nil {
		return err
	}
	last, err := s.config.Log.Last(ctx)
	if err != nil {
		return err
	}
	config := s.hallConfig()
	if state != nil {
		if s.hall, err = hall.Load(config, state); err != nil {
			return err
		}
	} else {
		at := uint64(0)
		if last == 0 { // an imported text is history, too
			at = s.config.Text.End()
		}
		s.from = at
		s.hall = hall.New(config, at)
	}
	s.applied, s.saved, s.savedAt = sequence, sequence, time.Now()
	s.inLog.Store(sequence)
	s.snapshots = []snapshot{{sequence, s.savedAt}}
	if s.config.Shared {
		s.fetch(ctx)
	} else if sequence > 0 { // no backup can be under way yet: nothing before the state is needed
		if err := s.config.Log.Forget(ctx, sequence); err != nil {
			s.config.Logger.Warn("old batches could not be dropped from the stream", "reason", err)
		}
	}
	if last <= sequence {
		return nil
	}
	enough := errors.New("all read")
	err = s.config.Log.Follow(ctx, sequence, func(n uint64, data []byte) error {
		// The log has dropped batches too early. The server can only report it.
		if s.config.Shared && n != s.applied+1 {
			s.config.Logger.Error("the log lacks batches", "after", s.applied, "before", n)
		}
		if err := s.replay(n, data); err != nil {
			return err
		}
		if n >= last {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// replay applies a batch for which no client of this server waits.
func (s *server) replay(sequence uint64, data []byte) error {
	s.applied = sequence
	s.unsaved += len(data)
	s.unread++
	b, rest, err := hall.ReadBatch(data)
	if err != nil {
		return fmt.Errorf("batch %d: %w", sequence, err)
	}
	s.noteStart(b)
	if !s.hall.Begin(b) {
		return nil
	}
	if err := applyEntries(s.hall, sequence, rest); err != nil {
		return err
	}
	err = s.writeText()
	s.erase(s.hall.Removed())
	return err
}

// applyEntries applies the entries of a batch whose clients are not here.
func applyEntries(h *hall.Hall, sequence uint64, entries []byte) error {
	for len(entries) > 0 {
		e, rest, err := hall.ReadEntry(entries)
		if err != nil {
			return fmt.Errorf("batch %d: %w", sequence, err)
		}
		h.Apply(e, nil, "")
		entries = rest
	}
	return nil
}

// writeText writes the lines of the entries that were applied.
func (s *server) writeText() error {
	at, lines := s.hall.Lines()
	err := s.config.Text.Write(at, lines)
	s.config.Index.Grown(at, at+uint64(len(lines)))
	return err
}

func (s *server) hallConfig() hall.Config {
	var motd []string
	for l := range strings.Lines(s.config.MOTD) {
		motd = append(motd, strings.TrimRight(l, "\r\n"))
	}
	config := hall.Config{
		Server: s.config.Unique, Name: s.config.Name, Network: s.config.Network,
		Version: s.config.Version, MOTD: motd, UTF8Only: s.config.UTF8Only,
		Secret: s.config.Secret, MsgidsFrom: s.config.MsgidsFrom,
		Rooms: s.config.Limits.Rooms, Founder: s.config.Founder, Text: s.config.Text,
		Index: s.config.Index, Created: time.Unix(0, s.run), Password: s.password,
	}
	config.Read = s.read
	config.AlwaysOn, config.AbsentInNames = s.config.AlwaysOn, s.config.AbsentInNames
	config.Redact, config.Edit = s.config.Redact, s.config.Edit
	config.Invisible = s.config.Invisible
	config.FileHost, config.STS = s.config.FileHost, s.config.STS
	config.Spared, config.Banned, config.TurnedAway = s.spared, s.noteBan, s.countBanned
	config.Reported = s.noteReport
	if s.config.Report != nil {
		config.Reporting = s.mayReport
	}
	if s.config.Admin != nil {
		config.Ordered = s.config.Admin.answer
	}
	config.End = s.endToken
	if s.config.Accounts != nil {
		config.Sign = (*signer)(s)
	}
	if s.config.Scram != nil {
		config.Scram = (*scrammer)(s)
	}
	if s.config.Own != nil {
		config.Own = (*owner)(s)
	}
	if s.config.Push != nil {
		config.Push = (*pusher)(s)
	}
	if s.config.Preview != nil {
		config.Preview = func(l hall.Linked) {
			if s.begun { // else the message is of an earlier run
				s.config.Preview(l)
			}
		}
	}
	return config
}

// password returns the first line of DATA/password.
func (s *server) password() (string, bool) {
	text, err := os.ReadFile(filepath.Join(s.config.Data, "password"))
	if err != nil {
		return "", !errors.Is(err, os.ErrNotExist) // an unreadable file keeps everybody out
	}
	word, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(word, "\r"), true
}

// A listener is a listening socket with the function that accepts its connections.
type listener struct {
	net.Listener
	accept func(net.Listener)
}

// listen opens all listeners, or reports the address that cannot be opened.
func (s *server) listen() ([]listener, error) {
	var listeners []listener
	add := func(addresses []string, secure bool, accept func(net.Listener)) error {
		for _, address := range addresses {
			l, err := s.config.Listen("tcp", address)
			if err != nil {
				return err
			}
			if secure && s.secure != nil {
				l = tls.NewListener(s.turns.Listener(l), s.secure)
			}
			listeners = append(listeners, listener{l, accept})
		}
		return nil
	}
	err := add(s.config.Plain, false, s.accept)
	if err == nil {
		err = add(s.config.TLS, true, s.accept)
	}
	if err == nil {
		err = add(s.config.Web, true, s.serveWeb)
	}
	if err == nil {
		err = add(s.config.Proxied, false, s.acceptProxied)
	}
	if err == nil {
		err = add(s.config.ProxiedWeb, false, s.serveProxiedWeb)
	}
	if err != nil {
		for _, d := range listeners {
			d.Close()
		}
		return nil, err
	}
	return listeners, nil
}

// begin accepts clients. The log then has this run's first batch, so all servers know that clients
// of earlier runs are gone.
func (s *server) begin(listeners []listener) {
	s.begun = true
	for _, d := range listeners {
		go d.accept(d.Listener)
	}
	if s.config.Ready != nil {
		s.config.Ready()
	}
}

// accept accepts clients.
func (s *server) accept(l net.Listener) {
	s.acceptEach(l, func(c net.Conn) {
		if secure, ok := c.(*tls.Conn); ok {
			s.handshake(secure)
		} else {
			s.take(c, false, "")
		}
	})
}

// acceptEach accepts connections until the listener is closed, and serves each in a goroutine. When
// no file descriptor is left, it waits and tries again.
func (s *server) acceptEach(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.config.Logger.Warn("a client could not be accepted", "reason", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go serve(c)
	}
}

// handshake does the TLS handshake before the client counts, within the time for registration.
func (s *server) handshake(c *tls.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Limits.Register)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return
	}
	s.take(c, true, fingerprint(c.ConnectionState()))
}

func fingerprint(state tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 {
		return ""
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:])
}

// take serves one client until its connection has ended.
func (s *server) take(client net.Conn, secure bool, print string) {
	s.readers.Add(1)
	defer s.readers.Done()
	host, address := hostOf(client.RemoteAddr())
	leave := func() {}
	if s.config.Enter != nil && !address.IsLoopback() {
		var ok bool
		if leave, ok = s.config.Enter(client.RemoteAddr()); !ok {
			_ = client.SetWriteDeadline(time.Now().Add(closeTimeout))
			_, _ = client.Write([]byte("ERROR :Too many connections from your address\r\n"))
			client.Close()
			return
		}
	}
	c := &conn{server: s, net: client, leave: leave, resume: make(chan struct{}, 1)}
	if sys, ok := client.(syscall.Conn); ok {
		c.raw, _ = sys.SyscallConn() // an error shows when the connection is read
	}
	c.Host, c.Secure, c.Fingerprint = host, secure, print
	if w, ok := client.(*wsConn); ok {
		c.Cookie = w.token != ""
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		c.From = s.bannable(ip)
		if s.config.Cloak != nil && !ip.IsLoopback() {
			c.Host, c.Address = s.config.Cloak(ip), host
		}
	}
	c.Open = !secure && !address.IsLoopback()
	s.events <- event{conn: c, arrives: true}
	c.read()
}

// hostOf returns a client's address in the form of nick!user@host, in which no word may begin with
// a colon.
func hostOf(a net.Addr) (string, net.IP) {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return "unknown", nil
	}
	ip := net.ParseIP(host)
	if v4 := ip.To4(); v4 != nil {
		host = v4.String()
	}
	if strings.HasPrefix(host, ":") {
		host = "0" + host
	}
	return host, ip
}

func (s *server) follow(ctx context.Context) {
	err := s.config.Log.Follow(ctx, s.applied, func(sequence uint64, data []byte) error {
		select {
		case s.batches <- arrived{sequence, data}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if ctx.Err() == nil {
		s.config.Logger.Error("the log cannot be followed", "reason", err)
	}
}
