// Package server connects Papaya's hall with the network: it has the listeners, a goroutine for
// each client, and the one goroutine that owns the hall.
package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
	"interleave/papaya/proxy"
	"interleave/papaya/search"
)

// A Config says how a server runs. A field that is zero gets its value from defaults.
type Config struct {
	Name    string // the server's name in every numeric: "chat"
	Network string // the network's name in 005 and 001
	MOTD    string // the message of the day, of several lines; empty: 422
	Version string // the program's version
	// UTF8Only says whether lines of clients must be UTF-8 (UTF8ONLY of IRCv3).
	UTF8Only bool
	Founder  bool   // a client without an account may be operator of the room that it makes
	Ready    func() // called when connections are accepted; may be nil

	Plain []string // addresses of listeners for plain IRC
	TLS   []string // addresses of listeners for IRC over TLS, with TLSConfig
	// addresses of listeners for HTTP, over TLS if TLSConfig is set. A WebSocket is at /socket;
	// WebHandler serves all other paths.
	Web []string
	// Base is the path below which Web and ProxiedWeb serve: "/chat"; empty for all paths.
	Base string

	// Proxied are addresses of listeners for IRC from the reverse proxies of Proxies, which begin
	// each connection with a header of the PROXY protocol. ProxiedWeb is for HTTP, without TLS,
	// whose requests name their client in ProxyHeader: proxy.XForwardedFor or proxy.Forwarded.
	Proxied, ProxiedWeb []string
	Proxies             proxy.Networks
	ProxyHeader         string

	// TLSConfig asks for client certificates. Its GetCertificate may load a new certificate.
	TLSConfig  *tls.Config
	WebHandler http.Handler                                        // nil: 404
	Listen     func(network, address string) (net.Listener, error) // nil: net.Listen
	// Origins are the hosts of pages that may open a WebSocket, beside the server's own host.
	Origins []string

	Data string    // the data folder, which may have a file named password
	Text *log.Text // opened by the caller, before Log: it holds the folder's lock
	Log  log.Log   // opened by the caller, who closes both after Run
	// Secret makes the msgids of messages. All servers of a log have the same one, for ever. Zero:
	// a new one, so that the msgids of before are refused. It cannot be zero if Shared is set.
	Secret hall.Secret
	// MsgidsFrom is told, once the server knows it, from which offset of Text on messages have
	// msgids that Secret makes. It must not block for long. nil: nobody wants to know.
	MsgidsFrom func(at uint64)
	Shared     bool   // other servers use the same log
	Unique     string // this server's name among them; restarts do not change it
	// Index is the index of Text, which Run keeps. nil: searches and histories read the text.
	Index *search.Index

	Accounts Accounts // nil: nobody has an account
	Scram    Scram    // nil: SASL SCRAM-SHA-256 is not offered
	Own      Own      // nil: accounts do not look after themselves
	Push     Push     // nil: devices are not notified
	Stay     Stay     // nil: no browser stays signed in
	// AlwaysOn says whether an account that logs in now stays in its rooms when its last session
	// has ended. AbsentInNames says whether NAMES and WHO show accounts that are away. nil: no.
	AlwaysOn      func() bool
	AbsentInNames func() bool
	// Invisible says whether a user is invisible (+i) until it says MODE -i. nil: no.
	Invisible func() bool
	// Redact is the age up to which users may remove their own messages; 0, or nil: any age.
	Redact func() time.Duration
	// Edit is the age up to which users may change their messages; 0, or nil: any age.
	Edit func() time.Duration
	// Cloak returns the host that others see of a client at an address, which is not logged. It is
	// not called for loopback addresses. nil: addresses are shown.
	Cloak func(address netip.Addr) string
	// STS is the policy that clients are told (sts of IRCv3); nil: they need not come over TLS.
	STS *hall.STS
	// FileHost returns the URL to which clients post files; empty, or nil: there is none.
	FileHost func() string
	// Erased is called before a message is removed from the text because a user wants it: with the
	// account or the program that has said it, and its text. It must not block for long. nil:
	// nobody wants to know.
	Erased func(who, text string)
	// Preview is told of messages that may have links, on the server that has logged them. It must
	// not block. PreviewErased is called before a preview is removed from the text, with the
	// preview. nil: there are no previews.
	Preview       func(hall.Linked)
	PreviewErased func(preview string)
	// Enter limits connections by address; nil: no limit. It is not called for loopback addresses.
	Enter func(address net.Addr) (leave func(), ok bool)
	// EnterWeb limits connections of browsers by address until they are WebSockets, for which Enter
	// is called; nil: no limit. It is called for loopback addresses, too, but not for proxies.
	EnterWeb func(address net.Addr) (leave func(), ok bool)
	// Say counts the lines of an account, or of an address without an account. It returns how long
	// the server must not read from that client; nil: no limit.
	Say func(address net.Addr, account string, lines int) (wait time.Duration)
	// Report says whether an account, or an address, may report something to the operators now, and
	// counts that. nil: reports are not offered to clients, and not limited.
	Report func(address net.Addr, account string) bool
	// Admin passes on the orders of administrators; may be nil.
	Admin *Admin

	Limits  Limits
	Metrics Metrics
	// Now gives the time of a message; nil: time.Now. Timers use the monotonic clock, which nobody
	// sets.
	Now    func() time.Time
	Logger *slog.Logger // nil: silent
}

// defaults fills in the fields that are zero.
func (c Config) defaults() Config {
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	set(&c.Name, "chat")
	set(&c.Network, "Papaya")
	set(&c.Unique, c.Name)
	set(&c.Version, "development")
	set(&c.ProxyHeader, proxy.XForwardedFor)
	if c.Listen == nil {
		c.Listen = net.Listen
	}
	if c.Secret == (hall.Secret{}) {
		_, _ = rand.Read(c.Secret[:]) // never fails
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	times := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	times(&c.Limits.Register, 30*time.Second)
	times(&c.Limits.Silent, 90*time.Second)
	times(&c.Limits.Answer, 30*time.Second)
	times(&c.Limits.Tokens, time.Minute)
	if c.Limits.Unread == 0 {
		c.Limits.Unread = 1 << 20
	}
	if c.Limits.Rooms == 0 {
		c.Limits.Rooms = 100
	}
	return c
}

// Limits bound what one client may use.
type Limits struct {
	Register time.Duration // time to register: 30 s
	Silent   time.Duration // silence after which a client is sent a PING: 90 s
	Answer   time.Duration // time to answer that PING: 30 s
	// Confirm is the time after which a client is asked by PING whether its messages have arrived;
	// 0: at once, which is within half a second.
	Confirm time.Duration
	// Tokens is the time after which the tokens of open connections are looked at again: a minute.
	Tokens  time.Duration
	Unread  int // unsent bytes of a client that does not read: 1 MiB
	Rooms   int // rooms of one client: 100
	Clients int // connections in all; 0: as many as there are file descriptors
}

// Metrics are called by many goroutines when something happens; each may be nil.
type Metrics struct {
	Connected    func()
	Disconnected func()
	Lines        func(n int) // lines that clients have sent
	Deliveries   func(n int) // lines that were queued for clients
	// Batches reports a batch that the log has stored: its entries, its size, and the time until it
	// was on the disk.
	Batches func(n, bytes int, took time.Duration)
	// Gathered reports a batch that was given to the log: how long its oldest line has waited, and
	// how much of that wait the log did not cause.
	Gathered func(waited, added time.Duration)
	// Paused reports that lines have waited for a slow client.
	Paused  func(took time.Duration)
	Refused func(reason error)  // a batch that the log has refused
	Cut     func(reason string) // a client that the server has disconnected
	Banned  func()              // a connection or request that was refused or ended by a ban
}

// ErrNotYours reports a wrong name, password, certificate or invitation. The client is told any
// other error as a failure of the server.
var ErrNotYours = errors.New("wrong name or password")

// ErrBusy reports a login that was not checked, since too many are under way.
var ErrBusy = errors.New("too many log in at the moment: try again soon")

// A Person is an account that a client has logged in to.
type Person struct {
	Account string // the account's name as it was written when it was made
	Role    hall.Role
	Token   string // the hash of the token that was used; empty: none was
}

// Accounts checks logins. A call may take long, since a password hash is slow on purpose. Many
// goroutines call it.
type Accounts interface {
	// Verify finds the account of a name and a password, or a token in the place of that.
	Verify(ctx context.Context, name, password string, from net.Addr) (Person, error)
	// Certificate finds the account of a client certificate by the SHA-256 of its DER form, in hex.
	// The name is the account that the client asks for; it may be empty.
	Certificate(ctx context.Context, fingerprint, name string) (Person, error)
	// Register makes an account. The invitation is empty if the client gave none.
	Register(ctx context.Context, name, password, invitation string, from net.Addr) (Person, error)
	// Required says whether a client needs an account to register its connection.
	Required() bool
}

// Scram checks logins by SASL SCRAM-SHA-256. A call may take long.
type Scram interface {
	// Begin takes the client's first message, and returns the server's.
	Begin(ctx context.Context, message string, from net.Addr) (Exchange, string, error)
}

// An Exchange is such a login that has begun.
type Exchange interface {
	// Finish takes the client's last message, and returns the account and the server's last one. If
	// the client does not go on, the message is empty.
	Finish(message string) (Person, string, error)
}
