package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
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
	"interleave/papaya/bot"
	"interleave/papaya/certificate"
	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/file"
	"interleave/papaya/hall"
	"interleave/papaya/keep"
	"interleave/papaya/limit"
	"interleave/papaya/log"
	"interleave/papaya/metrics"
	"interleave/papaya/preview"
	"interleave/papaya/proxy"
	"interleave/papaya/push"
	"interleave/papaya/search"
	"interleave/papaya/server"
	"interleave/papaya/web"
)

// A daemon is a server with everything around it: TLS, accounts, limits, a socket for
// administrators, metrics.
type daemon struct {
	settings atomic.Pointer[config.Config]
	level    slog.LevelVar
	logger   *slog.Logger
	early    *earlyListeners
	text     *log.Text
	index    *search.Index // nil: there is none
	log      log.Log
	book     *account.Book
	tokens   *bot.Tokens
	keys     account.Store
	secret   hall.Secret
	cloak    func(netip.Addr) string // nil: addresses are shown
	push     *push.Service           // nil: devices are not notified
	previews *preview.Service        // nil: there are no previews
	images   *preview.Images         // of previews
	files    *file.Store
	source   *certificate.Source
	open     *limit.Connections
	browsers *limit.Connections // of HTTP
	connect  *limit.Rate
	lines    *limit.Rate
	reports  *limit.Rate
	admin    server.Admin
	metrics  metrics.Set
	logins   *metrics.Counters
	pushes   *metrics.Counters
	uploads  *metrics.Counters
	links    *metrics.Counters

	ready    chan struct{} // closed when clients are accepted
	reloaded chan struct{} // holds one if retention must run again
	keeping  sync.Mutex    // a backup and the removal of old messages must not overlap
	erasing  sync.RWMutex  // held while messages are removed from the text, and read by previews
}

// merge puts the command line's flags into the settings.
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

// readSettings reads the named file, or returns the defaults.
func readSettings(file string) (*config.Config, error) {
	if file == "" {
		return config.Default(), nil
	}
	return config.Load(file)
}

// serveDaemon is `papaya serve` without --plain.
func serveDaemon(cmd *cobra.Command, o serveOptions) error {
	c, err := readSettings(o.config)
	if err != nil {
		return err
	}
	if err := merge(cmd, o, c); err != nil {
		return err
	}
	tell := newNotices(cmd.ErrOrStderr(), c.Format)
	return tell.end(runDaemon(cmd, o, c, tell))
}

// runDaemon serves with settings until the command's context ends.
func runDaemon(cmd *cobra.Command, o serveOptions, c *config.Config, tell notices) (err error) {
	d := &daemon{ready: make(chan struct{}), reloaded: make(chan struct{}, 1),
		open:     limit.NewConnections(c.Connections, c.PerAddress),
		browsers: limit.NewConnections(0, maxBrowsers),
		connect:  limit.NewRate(c.ConnectBurst, c.ConnectEvery, time.Now),
		lines:    limit.NewRate(c.LineBurst, c.LineEvery, time.Now),
		reports:  limit.NewRate(reportBurst, reportEvery, time.Now)}
	d.settings.Store(c)
	d.setLevel(c.Level)
	stderr := cmd.ErrOrStderr()
	options := &slog.HandlerOptions{Level: &d.level}
	if d.logger = slog.New(slog.NewTextHandler(stderr, options)); c.Format == "json" {
		d.logger = slog.New(slog.NewJSONHandler(stderr, options))
	}
	if d.text, err = log.OpenText(c.Data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.text.Close()) }()
	if d.early, err = listenEarly(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.early.close()) }()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	member := c.Member
	if member == "" {
		member = c.Name
	}
	store, err := log.Open(ctx, log.Options{Folder: streamFolder(c.Data),
		URL: strings.Join(c.NATS, ","), Replicas: o.replicas, Name: "papaya " + member,
		Trouble: func(err error) { d.logger.Warn("NATS", "reason", err) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	d.log = store
	keys, err := openKeys(ctx, store)
	if err != nil {
		return err
	}
	d.book, d.tokens, d.keys = openBook(keys, c), bot.Open(keys), keys
	d.book.TokenLimits = func() account.TokenLimits { return tokenLimits(d.settings.Load()) }
	d.book.Ended, d.book.Barred = d.tokensEnded, d.barred
	if d.secret, err = openMsgids(ctx, keys); err != nil {
		return err
	}
	if d.cloak, err = openCloak(ctx, keys, c); err != nil {
		return err
	}
	if d.push, err = d.openPush(ctx, c); err != nil {
		return err
	}
	if err := d.openFiles(c); err != nil {
		return err
	}
	if err := d.openPreviews(c); err != nil {
		return err
	}
	if err := d.openIndex(c); err != nil {
		return err
	}
	defer d.files.Close()
	if d.source, err = certificate.Open(certificate.Options{Folder: filepath.Join(c.Data, "tls"),
		Domains:     c.Domains,
		Certificate: c.Certificate, Key: c.Key, ACME: c.ACME, Email: c.ACMEEmail,
		Directory: c.Directory}); err != nil {
		return err
	}
	side, err := d.beside(ctx, c)
	if err != nil {
		return err
	}
	err = server.Run(ctx, d.server(c, member, func() {
		d.welcome(tell, c)
		close(d.ready)
		tell.ready()
	}))
	stop()
	side.Wait()
	return err
}

// server makes the configuration of package server.
func (d *daemon) server(c *config.Config, member string, ready func()) server.Config {
	proxies, _ := proxy.ParseNetworks(c.Trusted) // package config has checked them
	var devices server.Push
	if d.push != nil {
		devices = notifier{d.push}
	}
	files := d.fileServer(c)
	return server.Config{
		Name: c.Name, Network: c.Network, MOTD: c.MOTD, Version: version.String(), Ready: ready,
		UTF8Only: c.UTF8Only,
		Plain:    c.Plain, TLS: c.TLS, Web: c.Web, TLSConfig: d.source.Config(),
		WebHandler: d.pages(c, files.Handler()), Listen: d.early.take,
		Origins: c.Origins, Base: c.Base,
		Proxied: c.Proxied, ProxiedWeb: c.ProxiedWeb, Proxies: proxies,
		ProxyHeader: c.ProxyHeader,
		Data:        c.Data, Text: d.text, Index: d.index, Log: d.log,
		Secret: d.secret, MsgidsFrom: func(at uint64) {
			saveMsgids(c.Data, d.secret, at, d.logger)
		},
		Shared: len(c.NATS) > 0, Unique: member,
		AlwaysOn:      func() bool { return d.settings.Load().AlwaysOn },
		AbsentInNames: func() bool { return d.settings.Load().AbsentInNames },
		Invisible:     func() bool { return d.settings.Load().Invisible },
		Redact:        func() time.Duration { return d.settings.Load().Redact },
		Edit:          func() time.Duration { return d.settings.Load().Edit },
		Cloak:         d.cloak,
		FileHost:      fileHost(c, files), Erased: d.erased, STS: strict(c),
		Preview: d.offer(), PreviewErased: d.previewErased,
		Accounts: authenticator{d}, Own: authenticator{d}, Scram: d.scram(c), Push: devices,
		Stay:  keeper{d},
		Enter: d.enter, EnterWeb: d.enterWeb, Say: d.say, Report: d.report,
		Admin: &d.admin, Founder: true,
		Limits: server.Limits{Register: c.Register, Silent: c.Silent, Answer: c.Answer,
			Confirm: c.Confirm, Unread: c.Unread, Rooms: c.Rooms},
		Metrics: d.measure(), Logger: d.logger,
	}
}

// strict is the policy of TLS that clients are told; nil if there is none.
func strict(c *config.Config) *hall.STS {
	if !c.STS {
		return nil
	}
	return &hall.STS{Port: c.TLSPort(), Duration: time.Duration(c.STSDuration) * time.Second}
}

// pages serves programs, files, and browsers.
func (d *daemon) pages(c *config.Config, files http.Handler) http.Handler {
	programs := bot.NewServer(d.tokens, &d.admin, d.logger, time.Now).Handler()
	mux := http.NewServeMux()
	mux.Handle("/hook/", programs)
	mux.Handle("/api/", programs)
	mux.Handle("/upload", files)
	mux.Handle("/file/", files)
	mux.Handle("/files", files)
	mux.Handle("/files/", files)
	if d.images != nil {
		mux.Handle("/preview/", d.images.Handler())
	}
	readers := d.publicRooms(c)
	for _, path := range []string{"/public", "/public/", "/public.css", "/public.js"} {
		mux.Handle(path, readers)
	}
	mux.Handle("/", web.Handler())
	return mux
}

// outgoing are the outgoing webhooks. Of several servers of one log, one at a time serves each.
func (d *daemon) outgoing(c *config.Config) *bot.Outgoing {
	o := &bot.Outgoing{Tokens: d.tokens, Store: d.keys, Chat: &d.admin, Logger: d.logger}
	if len(c.NATS) > 0 {
		o.Owner = cmp.Or(c.Member, c.Name)
	}
	return o
}

// beside starts everything that runs beside the server until ctx ends: the administrators' socket,
// metrics, reloads, certificates, retention.
func (d *daemon) beside(ctx context.Context, c *config.Config) (*sync.WaitGroup, error) {
	var all sync.WaitGroup
	l, err := control.Listen(c.Data)
	if err != nil {
		return nil, err
	}
	admin := &control.Server{Accounts: d.book, Tokens: d.tokens, Backup: d.backup,
		Metrics: &d.metrics, Logger: d.logger, Files: control.StoredFiles{Store: d.files},
		Chat: &d.admin, Bans: &d.admin, Settle: d.settle, Erase: d.erase}
	if c.File != "" {
		admin.Reload = d.reload
	}
	if c.Metrics != "" {
		m, err := net.Listen("tcp", c.Metrics)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("listen.metrics: %w", err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", control.MetricsHandler(&d.metrics))
		s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout: time.Minute,
			ErrorLog:    slog.NewLogLogger(d.logger.Handler(), slog.LevelDebug)}
		context.AfterFunc(ctx, func() { _ = s.Close() }) // ends Serve
		all.Go(func() { _ = s.Serve(m) })                // until it is closed
	}
	all.Go(func() {
		if err := admin.Serve(ctx, l); err != nil {
			d.logger.Error("administrators cannot reach the server", "error", err)
		}
	})
	all.Go(func() {
		d.source.Keep(ctx, func(changed bool, err error) {
			d.logger.Info("certificate", "changed", changed, "fingerprint", d.source.Fingerprint(),
				"error", err)
		})
	})
	all.Go(func() {
		select {
		case <-d.ready:
			d.outgoing(c).Run(ctx)
		case <-ctx.Done():
		}
	})
	if d.push != nil {
		all.Go(func() { d.push.Run(ctx) })
	}
	if d.previews != nil {
		all.Go(func() { d.previews.Run(ctx) })
	}
	all.Go(func() { d.reloadOnHangup(ctx) })
	all.Go(func() { d.forgetOld(ctx) })
	all.Go(func() { d.retain(ctx) })
	return &all, nil
}

// reloadOnHangup reloads the settings at each SIGHUP.
func (d *daemon) reloadOnHangup(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			_, _ = d.reload() // reload logs the outcome
		}
	}
}

// reload reads the settings again. A wrong file changes nothing.
func (d *daemon) reload() (done control.Reloaded, err error) {
	defer func() {
		d.logger.Info("reload", "changed", done.Live, "after a restart", done.Later, "error", err)
	}()
	old := d.settings.Load()
	changed, err := d.source.Reload()
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
	d.settings.Store(now)
	d.open.Set(now.Connections, now.PerAddress)
	d.setLevel(now.Level)
	select {
	case d.reloaded <- struct{}{}:
	default: // it is going to run already
	}
	return done, nil
}

func (d *daemon) setLevel(word string) {
	var l slog.Level
	if l.UnmarshalText([]byte(word)) == nil { // package config has checked the words
		d.level.Set(l)
	}
}

// retainEvery is how often old messages are removed, besides at the start. It rewrites the text,
// and clients wait for a part of that time.
const retainEvery = 24 * time.Hour

func (d *daemon) retain(ctx context.Context) {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	began := time.Now()
	var calendar keep.Calendar
	for {
		if now := time.Now(); calendar.Believe(now.Round(0), now.Sub(began)) {
			d.retainUntil(ctx, now)
			d.expire(ctx, now)
		} else {
			d.logger.Warn(
				"the clock was set: what is old is removed tomorrow, if the date is right", "date",
				now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.reloaded:
		}
	}
}

// retainUntil removes messages and files that are old at that time.
func (d *daemon) retainUntil(ctx context.Context, now time.Time) {
	select {
	case <-d.ready: // the chat knows whose files are in messages
	case <-ctx.Done():
		return
	}
	d.keeping.Lock()
	c := d.settings.Load()
	d.expireFiles(now)
	d.expirePreviews(now)
	n, err := d.retainText(ctx, c.Keep, now)
	lines := 0
	if err == nil {
		var rooms []hall.Room
		if rooms, err = d.admin.Rooms(ctx); err == nil {
			lines, err = d.retainRooms(ctx, roomAges(c.KeepRooms, rooms), now)
		}
	}
	d.keeping.Unlock()
	if (n > 0 || lines > 0 || err != nil) && ctx.Err() == nil {
		d.logger.Info("retention", "removed_bytes", n, "removed_lines", lines, "error", err)
	}
}

// tables are the tables of keys in a backup.
var tables = []string{accountsTable}

// dataFiles are the files of the data folder in a backup.
var dataFiles = []string{"password", "tls", filesName, msgidsFile}

func (d *daemon) backup(ctx context.Context, w io.Writer) error {
	d.keeping.Lock()
	defer d.keeping.Unlock()
	return keep.Backup(ctx, keep.Source{Log: d.log, Text: d.text, Tables: tables,
		Folder: d.settings.Load().Data, Files: dataFiles, Now: time.Now()}, w)
}

// welcome tells what an administrator must know at the start.
func (d *daemon) welcome(tell notices, c *config.Config) {
	if d.source.Own() && len(c.TLS)+len(c.Web)+len(c.Proxied) > 0 {
		tell.certificate(d.source, c.Domains)
	}
	if list, err := d.book.List(context.Background()); err == nil && len(list) == 0 && c.Required {
		tell.nobody()
	}
}

// enter counts a connection against the limit of its address.
func (d *daemon) enter(from net.Addr) (leave func(), ok bool) {
	address := addrOf(from)
	if _, ok := d.connect.Take(limit.Key(address)); !ok {
		return nil, false
	}
	leave, err := d.open.Enter(address)
	if err != nil {
		d.logger.Debug("refused", "from", address, "error", err)
	}
	return leave, err == nil
}

// maxBrowsers bounds the connections of HTTP of one address, which may be that of a company. A
// browser opens up to six to one host. A guess.
const maxBrowsers = 256

// enterWeb counts a connection of HTTP against the limit of its address. Those of this machine are
// not limited.
func (d *daemon) enterWeb(from net.Addr) (leave func(), ok bool) {
	address := addrOf(from)
	if address.IsLoopback() {
		return func() {}, true
	}
	leave, err := d.browsers.Enter(address)
	return leave, err == nil
}

// say counts lines against the limit of an account, or of an address if there is no account.
// Clients on this machine without an account are not limited.
func (d *daemon) say(from net.Addr, who string, lines int) time.Duration {
	address := addrOf(from)
	key := "account " + strings.ToLower(who)
	if who == "" {
		if address.IsLoopback() {
			return 0
		}
		key = limit.Key(address)
	}
	return min(d.lines.Spend(key, lines), longestRest)
}

// longestRest bounds how long a client is not read from. It is below the time after which a silent
// client is sent a PING.
const longestRest = 10 * time.Second

// measure makes the server's metrics.
func (d *daemon) measure() server.Metrics {
	f := &d.metrics
	var clients atomic.Int64
	f.Gauge("papaya_clients", "Connections that are open.",
		func() float64 { return float64(clients.Load()) })
	f.Gauge("papaya_log_bytes", "Size of the text that is kept.",
		func() float64 { return float64(d.text.End() - d.text.Begin()) })
	f.Gauge("papaya_log_lacks_bytes", "Bytes of the text that other servers have yet to send.",
		func() float64 { return float64(d.text.Lacking()) })
	f.Gauge("papaya_goroutines", "Goroutines.",
		func() float64 { return float64(runtime.NumGoroutine()) })
	f.Gauge("papaya_certificate_ends_seconds", "When the certificate ends, in seconds since 1970.",
		func() float64 { return float64(d.source.Ends().Unix()) })
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
	f.Gauge("papaya_bans", "Bans of the whole server.",
		func() float64 { return float64(d.admin.BanCount()) })
	f.Gauge("papaya_reports", "Reports of users that no operator has closed.",
		func() float64 { return float64(d.admin.ReportCount()) })
	banned := f.Counter("papaya_banned_total",
		"Connections and requests that a ban has refused or ended.")
	d.measureFiles()
	d.measurePreviews()
	d.measureIndex()
	d.logins = f.Counters("papaya_logins_total", "Logins and registrations.", "result", "ok",
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
		Paused:   held.Observe,
		Refused:  func(error) { refused.Add(1) },
		Banned:   func() { banned.Add(1) },
		Cut:      func(reason string) { cut.Add(1); d.logger.Debug("cut off", "reason", reason) },
	}
}

// login counts the outcome of a login.
func (d *daemon) login(err error) {
	var limited *account.LimitError
	switch {
	case err == nil:
		d.logins.Of("ok").Add(1)
	case errors.Is(err, server.ErrNotYours):
		d.logins.Of("wrong").Add(1)
	case errors.As(err, &limited), errors.Is(err, account.ErrBusy):
		d.logins.Of("limited").Add(1)
	default:
		d.logins.Of("trouble").Add(1)
	}
}
