package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/version"
	"interleave/papaya/account"
	"interleave/papaya/certificate"
	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/keep"
	"interleave/papaya/limit"
	"interleave/papaya/log"
	"interleave/papaya/metrics"
	"interleave/papaya/server"
	"interleave/papaya/web"
)

// A house is a server with all that it needs to be left alone: TLS, accounts, limits, a socket for
// administrators, figures.
type house struct {
	settings atomic.Pointer[config.Config]
	level    slog.LevelVar
	logger   *slog.Logger
	text     *log.Text
	log      log.Log
	book     *account.Book
	source   *certificate.Source
	open     *limit.Connections
	connect  *limit.Rate
	lines    *limit.Rate
	admin    server.Admin
	figures  metrics.Set
	logins   *metrics.Counters

	ready    chan struct{} // closed when clients are accepted
	reloaded chan struct{} // has one if retention is to look again
	keeping  sync.Mutex    // a backup and the removal of what is old take turns
}

// merge lets what was said on the command line stand before the file.
func merge(cmd *cobra.Command, o serveOptions, c *config.Config) error {
	said := cmd.Flags().Changed
	if said("listen") {
		c.Plain = o.listen
	}
	if said("web") {
		c.Web = o.web
	}
	if said("data") {
		c.Data = o.data
	}
	if said("name") {
		c.Name = o.name
	}
	if said("nats") {
		c.NATS = []string{o.nats}
	}
	if said("unique") {
		c.Member = o.unique
	}
	if said("motd") {
		data, err := os.ReadFile(o.motd)
		if err != nil {
			return fmt.Errorf("reading the message of the day: %w", err)
		}
		c.MOTD = string(data)
	}
	return nil
}

// readSettings reads the file that is named, or has the defaults.
func readSettings(file string) (*config.Config, error) {
	if file == "" {
		return config.Default(), nil
	}
	return config.Load(file)
}

// serveHouse is `papaya serve` without --plain.
func serveHouse(cmd *cobra.Command, o serveOptions) (err error) {
	c, err := readSettings(o.config)
	if err != nil {
		return err
	}
	if err := merge(cmd, o, c); err != nil {
		return err
	}
	h := &house{ready: make(chan struct{}), reloaded: make(chan struct{}, 1),
		open:    limit.NewConnections(c.Connections, c.PerAddress),
		connect: limit.NewRate(c.ConnectBurst, c.ConnectEvery, time.Now),
		lines:   limit.NewRate(c.LineBurst, c.LineEvery, time.Now)}
	h.settings.Store(c)
	h.setLevel(c.Level)
	stderr := cmd.ErrOrStderr()
	options := &slog.HandlerOptions{Level: &h.level}
	if h.logger = slog.New(slog.NewTextHandler(stderr, options)); c.Format == "json" {
		h.logger = slog.New(slog.NewJSONHandler(stderr, options))
	}
	if h.text, err = log.OpenText(c.Data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.text.Close()) }()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	member := c.Member
	if member == "" {
		member = c.Name
	}
	store, err := log.Open(ctx, log.Options{Folder: streamFolder(c.Data),
		URL: strings.Join(c.NATS, ","), Replicas: o.replicas, Name: "papaya " + member})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	h.log = store
	if h.book, err = openBook(ctx, store); err != nil {
		return err
	}
	if h.source, err = certificate.Open(certificate.Options{Folder: filepath.Join(c.Data, "tls"),
		Domains:     c.Domains,
		Certificate: c.Certificate, Key: c.Key, ACME: c.ACME, Email: c.ACMEEmail,
		Directory: c.Directory}); err != nil {
		return err
	}
	side, err := h.beside(ctx, c)
	if err != nil {
		return err
	}
	err = server.Run(ctx, h.server(c, member, func() {
		h.welcome(stderr, c)
		close(h.ready)
		fmt.Fprintln(stderr, "ready")
	}))
	stop()
	side.Wait()
	return err
}

// server is what package server is told.
func (h *house) server(c *config.Config, member string, ready func()) server.Config {
	return server.Config{
		Name: c.Name, Network: c.Network, MOTD: c.MOTD, Version: version.String(), Ready: ready,
		Plain: c.Plain, TLS: c.TLS, Web: c.Web, TLSConfig: h.source.Config(),
		WebHandler: web.Handler(), Listen: listen, Origins: c.Origins,
		Data: c.Data, Text: h.text, Log: h.log, Shared: len(c.NATS) > 0, Unique: member,
		Accounts: doorkeeper{h}, Enter: h.enter, Say: h.say, Admin: &h.admin, Founder: true,
		Limits: server.Limits{Register: c.Register, Silent: c.Silent, Answer: c.Answer,
			Unread: c.Unread, Rooms: c.Rooms},
		Metrics: h.measure(), Logger: h.logger,
	}
}

// beside starts what goes on beside the server until ctx ends: the socket for administrators,
// figures, reload, certificates, retention.
func (h *house) beside(ctx context.Context, c *config.Config) (*sync.WaitGroup, error) {
	var all sync.WaitGroup
	l, err := control.Listen(c.Data)
	if err != nil {
		return nil, err
	}
	admin := &control.Server{Accounts: h.book, Backup: h.backup, Metrics: &h.figures,
		Logger: h.logger,
		Chat:   &h.admin, Removed: h.forget, Erase: h.erase}
	if c.File != "" {
		admin.Reload = h.reload
	}
	if c.Metrics != "" {
		m, err := net.Listen("tcp", c.Metrics)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("listen.metrics: %w", err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", control.MetricsHandler(&h.figures))
		s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout: time.Minute}
		context.AfterFunc(ctx, func() { _ = s.Close() }) // ends Serve
		all.Go(func() { _ = s.Serve(m) })                // until then
	}
	all.Go(func() {
		if err := admin.Serve(ctx, l); err != nil {
			h.logger.Error("administrators cannot reach the server", "error", err)
		}
	})
	all.Go(func() {
		h.source.Keep(ctx, func(changed bool, err error) {
			h.logger.Info("certificate", "changed", changed, "fingerprint", h.source.Fingerprint(),
				"error", err)
		})
	})
	all.Go(func() { h.hangups(ctx) })
	all.Go(func() { h.forgetOld(ctx) })
	all.Go(func() { h.retain(ctx) })
	return &all, nil
}

// hangups reads the settings again at each SIGHUP.
func (h *house) hangups(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			_, _ = h.reload() // it says in the log what has come of it
		}
	}
}

// reload reads the file again. A wrong one changes nothing.
func (h *house) reload() (done control.Reloaded, err error) {
	defer func() {
		h.logger.Info("reload", "changed", done.Live, "after a restart", done.Later, "error", err)
	}()
	old := h.settings.Load()
	changed, err := h.source.Reload()
	if err != nil {
		return done, err
	}
	if changed {
		done.Live = append(done.Live, "the certificate")
	}
	if old.File == "" {
		return done, nil
	}
	fresh, err := config.Load(old.File)
	if err != nil {
		return done, fmt.Errorf("all settings stay as they were: %w", err)
	}
	live, later := config.Changes(old, fresh)
	done.Live, done.Later = append(done.Live, live...), later
	now := config.Apply(old, fresh)
	h.settings.Store(now)
	h.open.Set(now.Connections, now.PerAddress)
	h.setLevel(now.Level)
	select {
	case h.reloaded <- struct{}{}:
	default: // it is to look already
	}
	return done, nil
}

func (h *house) setLevel(word string) {
	var l slog.Level
	if l.UnmarshalText([]byte(word)) == nil { // the words were looked at by package config
		h.level.Set(l)
	}
}

// retainEvery is how often what is old is removed, beside at the start: what stays of the text is
// written anew, and clients wait meanwhile.
const retainEvery = 24 * time.Hour

func (h *house) retain(ctx context.Context) {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	began := time.Now()
	var calendar keep.Calendar
	for {
		if now := time.Now(); calendar.Believe(now.Round(0), now.Sub(began)) {
			h.retainUntil(ctx, now)
		} else {
			h.logger.Warn(
				"the clock was set: what is old is removed tomorrow, if the date is right", "date",
				now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.reloaded:
		}
	}
}

// retainUntil removes what is old at a moment.
func (h *house) retainUntil(ctx context.Context, now time.Time) {
	h.keeping.Lock()
	c := h.settings.Load()
	n, err := keep.Retain(ctx, h.text, c.Keep, now)
	lines := 0
	if err == nil {
		lines, err = keep.RetainRooms(ctx, h.text, roomAges(c.KeepRooms), now)
	}
	h.keeping.Unlock()
	if (n > 0 || lines > 0 || err != nil) && ctx.Err() == nil {
		h.logger.Info("retention", "removed_bytes", n, "removed_lines", lines, "error", err)
	}
}

// tables are those of keys that a backup has.
var tables = []string{accountsTable}

// dataFiles are those of the data folder that a backup has.
var dataFiles = []string{"password", "tls"}

func (h *house) backup(ctx context.Context, w io.Writer) error {
	h.keeping.Lock()
	defer h.keeping.Unlock()
	return keep.Backup(ctx, keep.Source{Log: h.log, Text: h.text, Tables: tables,
		Folder: h.settings.Load().Data, Files: dataFiles, Now: time.Now()}, w)
}

// welcome says what an administrator must know of a start.
func (h *house) welcome(w io.Writer, c *config.Config) {
	if h.source.Own() && len(c.TLS)+len(c.Web) > 0 {
		fmt.Fprintf(w, "certificate of its own, for %s, until %s; clients pin its SHA-256:\n%s\n",
			strings.Join(c.Domains, ", "), h.source.Ends().Format(time.DateOnly),
			h.source.Fingerprint())
	}
	if list, err := h.book.List(context.Background()); err == nil && len(list) == 0 && c.Required {
		fmt.Fprintln(w, "nobody has an account yet: papaya admin account add NAME --role admin")
	}
}

// enter counts a connection against the limits of its address.
func (h *house) enter(from net.Addr) (leave func(), ok bool) {
	address := addrOf(from)
	if _, ok := h.connect.Take(limit.Key(address)); !ok {
		return nil, false
	}
	leave, err := h.open.Enter(address)
	if err != nil {
		h.logger.Debug("refused", "from", address, "error", err)
	}
	return leave, err == nil
}

// say counts lines: of an account, wherever it comes from, or of an address. This machine's own,
// without an account, are not counted.
func (h *house) say(from net.Addr, who string, lines int) time.Duration {
	address := addrOf(from)
	key := "account " + strings.ToLower(who)
	if who == "" {
		if address.IsLoopback() {
			return 0
		}
		key = limit.Key(address)
	}
	return min(h.lines.Spend(key, lines), longestRest)
}

// longestRest bounds how long nothing is read of a client at once: it stays below the time after
// which a silent one is asked.
const longestRest = 10 * time.Second

// measure counts what the server tells.
func (h *house) measure() server.Metrics {
	f := &h.figures
	var clients atomic.Int64
	f.Gauge("papaya_clients", "Connections that are open.",
		func() float64 { return float64(clients.Load()) })
	f.Gauge("papaya_log_bytes", "Size of the text that is kept.",
		func() float64 { return float64(h.text.End() - h.text.Begin()) })
	f.Gauge("papaya_goroutines", "Goroutines.",
		func() float64 { return float64(runtime.NumGoroutine()) })
	f.Gauge("papaya_certificate_ends_seconds", "When the certificate ends, in seconds since 1970.",
		func() float64 { return float64(h.source.Ends().Unix()) })
	connected := f.Counter("papaya_connections_total", "Connections that were taken.")
	lines := f.Counter("papaya_lines_total", "Lines that clients have said.")
	deliveries := f.Counter("papaya_deliveries_total", "Lines to clients.")
	entries := f.Counter("papaya_log_entries_total", "Entries that are in the log.")
	size := f.Counter("papaya_log_written_bytes_total",
		"Bytes that were written to the log's stream.")
	took := f.Histogram("papaya_log_append_seconds", "Time until a batch is on the disk.")
	waited := f.Histogram("papaya_log_wait_seconds",
		"Time of a batch's oldest line until the batch was handed to the log.")
	added := f.Histogram("papaya_log_batching_seconds",
		"Of that, what batching has added: the time in which the log was free.")
	held := f.Histogram("papaya_held_seconds",
		"How long lines to a client that is behind waited for it to read.")
	refused := f.Counter("papaya_log_refused_total", "Batches that the log did not take.")
	cut := f.Counter("papaya_clients_cut_total", "Clients that were ended by the server.")
	h.logins = f.Counters("papaya_logins_total", "Logins and registrations.", "result", "ok",
		"wrong", "limited", "trouble")
	return server.Metrics{
		Connected:    func() { clients.Add(1); connected.Add(1) },
		Disconnected: func() { clients.Add(-1) },
		Lines:        func(n int) { lines.Add(uint64(n)) },
		Deliveries:   func(n int) { deliveries.Add(uint64(n)) },
		Batches: func(n, bytes int, d time.Duration) {
			entries.Add(uint64(n))
			size.Add(uint64(bytes))
			took.Observe(d)
		},
		Gathered: func(w, a time.Duration) { waited.Observe(w); added.Observe(a) },
		Held:     held.Observe,
		Refused: func(reason error) {
			refused.Add(1)
			h.logger.Error("the log cannot be written", "error", reason)
		},
		Cut: func(reason string) { cut.Add(1); h.logger.Debug("cut off", "reason", reason) },
	}
}

// login counts how a login has ended.
func (h *house) login(err error) {
	var limited *account.LimitError
	switch {
	case err == nil:
		h.logins.Of("ok").Add(1)
	case errors.Is(err, server.ErrNotYours):
		h.logins.Of("wrong").Add(1)
	case errors.As(err, &limited), errors.Is(err, account.ErrBusy):
		h.logins.Of("limited").Add(1)
	default:
		h.logins.Of("trouble").Add(1)
	}
}
