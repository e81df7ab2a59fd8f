// Package server is the edge of Papaya: listeners, a goroutine for each client, and the one
// goroutine that owns the hall.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// A Config is all that a server is told. What is left at zero has the value that defaults gives it.
type Config struct {
	Name    string // of the server, in every numeric: "chat"
	Network string // in 005 and 001
	MOTD    string // several lines; none: 422
	Version string // of the program
	Founder bool   // who makes a room is its operator, without an account too
	Ready   func() // is called when connections are accepted

	Plain []string // addresses of listeners for plain IRC
	TLS   []string // for IRC over TLS, with TLSConfig
	// for HTTP: WebSocket at /socket, WebHandler for all else; over TLS where TLSConfig is there
	Web []string

	// its GetCertificate may reload; client certificates are asked for
	TLSConfig  *tls.Config
	WebHandler http.Handler                                        // nil: 404
	Listen     func(network, address string) (net.Listener, error) // nil: net.Listen
	// hosts of pages that may open a WebSocket, beside the server's own
	Origins []string

	Data   string    // the folder, in which password is looked for
	Text   *log.Text // opened by the caller, before Log: it holds the folder's lock
	Log    log.Log   // opened by the caller, who closes both after Run
	Shared bool      // the log has other servers
	Unique string    // this server's name among them; it survives restarts

	Accounts Accounts // nil: nobody has one
	// limits by address; nil: everybody may. Loopback is not asked about
	Enter func(address net.Addr) (leave func(), ok bool)
	// Say counts lines of an account, or of an address where there is none, and says how long no
	// more is read of who has said them; nil: no limit.
	Say func(address net.Addr, account string, lines int) (wait time.Duration)
	// Admin is where administrators ask; may be nil.
	Admin *Admin

	Limits  Limits
	Metrics Metrics
	// says when something was said; nil: time.Now. What takes its time has a clock that nobody sets
	Now    func() time.Time
	Logger *slog.Logger // nil: silent
}

// defaults gives what is left at zero its value.
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
	if c.Listen == nil {
		c.Listen = net.Listen
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
	if c.Limits.Unread == 0 {
		c.Limits.Unread = 1 << 20
	}
	if c.Limits.Rooms == 0 {
		c.Limits.Rooms = 100
	}
	return c
}

// Limits bound what one client can take.
type Limits struct {
	Register time.Duration // until a client has registered: 30 s
	Silent   time.Duration // until a client that says nothing is asked whether it is there: 90 s
	Answer   time.Duration // until one that was asked is ended: 30 s
	Unread   int           // bytes that wait for a client that does not read: 1 MiB
	Rooms    int           // that one client is in: 100
	Clients  int           // connections in all: 0 is as many as there are descriptors
}

// Metrics hears what happens, from many goroutines; each may be nil.
type Metrics struct {
	Connected    func()
	Disconnected func()
	Lines        func(n int) // said by clients
	Deliveries   func(n int) // lines to clients
	// stored in the log: entries, size, time until it was on the disk
	Batches func(n, bytes int, took time.Duration)
	// a batch was handed to the log: since its oldest line had come, and of that what the
	// log did not need
	Gathered func(waited, added time.Duration)
	// lines to a client that is behind have waited for it
	Held    func(took time.Duration)
	Refused func(reason error)  // a batch that the log did not take
	Cut     func(reason string) // a client that was ended
}

// ErrNotYours is what Accounts answers to a wrong name, password, certificate or invitation. Any
// other error is trouble, and is told to the client as such.
var ErrNotYours = errors.New("wrong name or password")

// A Person is who has logged in.
type Person struct {
	Account string // its name, as it is written
	Role    hall.Role
}

// Accounts knows who may be whom. Calls may take long (a hash is slow on purpose), and come from
// many goroutines.
type Accounts interface {
	// Verify finds the account of a name and a password.
	Verify(ctx context.Context, name, password string, from net.Addr) (Person, error)
	// Certificate finds the account of a client's certificate by the SHA-256 of its DER form, in
	// hex. The name is that of the account which the client asks for, or empty.
	Certificate(ctx context.Context, fingerprint, name string) (Person, error)
	// Register makes an account; invitation is empty where none was given.
	Register(ctx context.Context, name, password, invitation string, from net.Addr) (Person, error)
	// Required says whether a client needs an account to register its connection.
	Required() bool
}
