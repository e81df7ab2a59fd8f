package server

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/papaya/hall"
)

// server is the state of a Run. All of it belongs to the goroutine of deal, but for the channels.
type server struct {
	config  Config
	hall    *hall.Hall
	run     int64    // which start of this server it is
	applied uint64   // the sequence of the newest batch that the hall has seen
	saved   uint64   // and of the state that was saved last
	unsaved int      // bytes of batches since
	savings []saving // of the goroutine that keeps them, and of Run when that has ended
	lost    error    // why this server cannot go on

	events  chan event   // from readers and those who sign in
	batches chan arrived // from the log
	results chan result  // of Append
	appends chan []byte  // to the goroutine that appends
	states  chan arrived // to the goroutine that keeps them

	ready    chan *conn    // to those who write for all
	written  chan struct{} // from them, when they have nothing to do
	searches chan struct{} // has room for those that may read at once
	savedAt  time.Time
	readers  sync.WaitGroup
	writers  sync.WaitGroup

	unwritten atomic.Int32 // clients that those who write for all still have to look at

	begun     bool
	conns     map[uint64]*conn
	next      uint64
	dirty     []*conn
	delivered int
	late      []*conn       // those for whom lines wait: backpressure.go
	start     time.Time     // of the times that are kept as durations
	moment    time.Duration // of what is being done
	log       outbox
}

// An event is what a goroutine of a client, or one beside it, has for the owner of the hall.
type event struct {
	conn    *conn
	arrives bool
	lines   []line
	end     bool
	inOrder bool
	do      func() (hall.Entry, bool) // the answer about an account
}

// An arrived batch is one that the log has handed over.
type arrived struct {
	sequence uint64
	data     []byte
}

// eventQueue is in events: clients beyond it wait with what they have read. A guess.
const eventQueue = 256

// Run serves until ctx ends, then tells all clients and returns.
func Run(ctx context.Context, config Config) error {
	config = config.defaults()
	s := &server{
		config: config, run: config.Now().UnixNano(), start: time.Now(), conns: map[uint64]*conn{},
		events: make(chan event, eventQueue), batches: make(chan arrived, 16),
		results: make(chan result, 1), appends: make(chan []byte, 1), states: make(chan arrived, 1),
		searches: make(chan struct{}, searchesAtOnce), ready: make(chan *conn, eventQueue),
		written: make(chan struct{}, 1),
	}
	if err := s.recover(ctx); err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	// the clock may have been ahead when it was started last
	s.run = max(s.run, s.hall.Run(config.Unique)+1)
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
		all.Go(func() { s.follow(inner) })
		all.Go(func() {
			if err := config.Log.ShareText(inner, config.Text); err != nil {
				config.Logger.Error("other servers cannot be given what they lack", "reason", err)
			}
		})
	}
	all.Go(func() { s.append(inner) })
	all.Go(func() { s.keep(inner) })
	for range min(runtime.GOMAXPROCS(0), maxWriters) {
		all.Go(s.deliver)
	}
	err = s.deal(ctx, listeners)
	close(s.ready)
	cancel()
	all.Wait()
	return errors.Join(err, s.save())
}

// recover makes the hall of the state that was saved and of the batches since, and the
// text of those.
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
		if last == 0 { // a text that comes from elsewhere is history, too
			at = s.config.Text.End()
		}
		s.hall = hall.New(config, at)
	}
	s.applied, s.saved, s.savedAt = sequence, sequence, time.Now()
	s.savings = []saving{{sequence, s.savedAt}}
	if s.config.Shared {
		s.fetch(ctx)
	} else if sequence > 0 { // nobody is making a backup yet, so nothing before the state is wanted
		if err := s.config.Log.Forget(ctx, sequence); err != nil {
			s.config.Logger.Warn("the stream keeps what it need not", "reason", err)
		}
	}
	if last <= sequence {
		return nil
	}
	enough := errors.New("all read")
	err = s.config.Log.Follow(ctx, sequence, func(n uint64, data []byte) error {
		// it kept less than it was told to: nothing can be done but to say so
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

// fetch asks the other servers for the lines between the end of this one's text and the saved
// state. What nobody has is told.
func (s *server) fetch(ctx context.Context) {
	lacks := func(from, to uint64, err error) {
		s.config.Logger.Error("the text lacks lines that were said while this server was away; "+
			"what stands before them is kept beside it", "from", from, "to", to, "reason", err)
	}
	have, want := s.config.Text.End(), s.hall.At()
	for have < want {
		at, lines, err := s.config.Log.AskText(ctx, have)
		if err != nil || at >= want {
			lacks(have, want, err)
			return
		}
		if at > have {
			lacks(have, at, nil)
		}
		lines = lines[:min(uint64(len(lines)), want-at)]
		if err := s.config.Text.Write(at, lines); err != nil {
			lacks(at, want, err)
			return
		}
		have = at + uint64(len(lines))
	}
}

// replay applies a batch that nobody here waits for.
func (s *server) replay(sequence uint64, data []byte) error {
	s.applied = sequence
	s.unsaved += len(data)
	b, rest, err := hall.ReadBatch(data)
	if err != nil {
		return fmt.Errorf("batch %d: %w", sequence, err)
	}
	if !s.hall.Begin(b) {
		return nil
	}
	for len(rest) > 0 {
		var e hall.Entry
		if e, rest, err = hall.ReadEntry(rest); err != nil {
			return fmt.Errorf("batch %d: %w", sequence, err)
		}
		s.hall.Apply(e, nil, "")
	}
	at, lines := s.hall.Lines()
	return s.config.Text.Write(at, lines)
}

func (s *server) hallConfig() hall.Config {
	var motd []string
	for l := range strings.Lines(s.config.MOTD) {
		motd = append(motd, strings.TrimRight(l, "\r\n"))
	}
	config := hall.Config{
		Server: s.config.Unique, Name: s.config.Name, Network: s.config.Network,
		Version: s.config.Version, MOTD: motd,
		Rooms: s.config.Limits.Rooms, Founder: s.config.Founder, Text: s.config.Text,
		Created: time.Unix(0, s.run), Password: s.password,
	}
	config.Search = s.search
	if s.config.Admin != nil {
		config.Ordered = s.config.Admin.obeyed
	}
	if s.config.Accounts != nil {
		config.Sign = (*signer)(s)
	}
	return config
}

// password is the first line of DATA/password.
func (s *server) password() (string, bool) {
	text, err := os.ReadFile(filepath.Join(s.config.Data, "password"))
	if err != nil {
		return "", !errors.Is(err, os.ErrNotExist) // one that cannot be read lets nobody in
	}
	word, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(word, "\r"), true
}

// A listener is a socket that listens, and what accepts its connections.
type listener struct {
	net.Listener
	accept func(net.Listener)
}

// listen opens all addresses, and says which one is taken.
func (s *server) listen() ([]listener, error) {
	var listeners []listener
	add := func(addresses []string, secure bool, accept func(net.Listener)) error {
		for _, address := range addresses {
			l, err := s.config.Listen("tcp", address)
			if err != nil {
				return err
			}
			if secure && s.config.TLSConfig != nil {
				l = tls.NewListener(l, s.config.TLSConfig)
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
	if err != nil {
		for _, d := range listeners {
			d.Close()
		}
		return nil, err
	}
	return listeners, nil
}

// begin accepts clients, once the log has heard that this server has nobody of before.
func (s *server) begin(listeners []listener) {
	s.begun = true
	for _, d := range listeners {
		go d.accept(d.Listener)
	}
	if s.config.Ready != nil {
		s.config.Ready()
	}
}

// accept takes clients in until the listener is closed. Without a descriptor left it waits for one
// to become free.
func (s *server) accept(l net.Listener) {
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
		if secure, ok := c.(*tls.Conn); ok {
			go s.handshake(secure)
			continue
		}
		go s.take(c, false, "")
	}
}

// handshake is done before a client counts, within the time that it has to register.
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

// take serves one client, to its end.
func (s *server) take(client net.Conn, secure bool, print string) {
	s.readers.Add(1)
	defer s.readers.Done()
	host, address := hostOf(client.RemoteAddr())
	leave := func() {}
	if s.config.Enter != nil && !address.IsLoopback() {
		var ok bool
		if leave, ok = s.config.Enter(client.RemoteAddr()); !ok {
			_ = client.SetWriteDeadline(time.Now().Add(lastWords))
			_, _ = client.Write([]byte("ERROR :Too many connections from your address\r\n"))
			client.Close()
			return
		}
	}
	c := &conn{server: s, net: client, leave: leave, resume: make(chan struct{}, 1)}
	if sys, ok := client.(syscall.Conn); ok {
		c.raw, _ = sys.SyscallConn() // one that has ended says so when it is read
	}
	c.Host, c.Secure, c.Fingerprint = host, secure, print
	c.Open = !secure && !address.IsLoopback()
	s.events <- event{conn: c, arrives: true}
	c.read()
}

// hostOf is a client's address as it stands in nick!user@host, where no word may begin
// with a colon.
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
		s.config.Logger.Error("the log is not followed any more", "reason", err)
	}
}
