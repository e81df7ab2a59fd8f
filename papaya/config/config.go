// Package config reads a server's settings from a file of TOML. Every setting has a default, so a
// server needs no file.
//
// All settings are in one table (settings.go). The parser, the example, the list in the
// documentation and the rules of a reload are made from it, so they cannot differ.
package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// A Config has all settings.
type Config struct {
	File string // the file that was read; empty for none

	Name     string
	Network  string
	MOTD     string
	Data     string
	UTF8Only bool
	Cloak    bool

	Plain   []string
	TLS     []string
	Web     []string
	Metrics string
	Origins []string

	Proxied     []string
	ProxiedWeb  []string
	Trusted     []string
	ProxyHeader string
	Base        string

	Domains     []string
	ACME        bool
	ACMEEmail   string
	Directory   string
	Certificate string
	Key         string
	STS         bool
	STSDuration int // seconds; 0 ends the policy
	STSPort     int // 0: that of the first of TLS

	Required      bool
	MinPassword   int
	Scram         bool
	Registration  string
	AlwaysOn      bool
	AbsentInNames bool
	Invisible     bool
	Expire        time.Duration
	Tokens        int           // of one account; 0: there are none
	Stay          time.Duration // the life of a token without use; 0: for ever

	Connections  int
	PerAddress   int
	ConnectBurst int
	ConnectEvery time.Duration
	Register     time.Duration
	Silent       time.Duration
	Answer       time.Duration
	Confirm      time.Duration
	Unread       int
	Rooms        int
	LineBurst    int
	LineEvery    time.Duration

	Keep      time.Duration
	KeepRooms []string
	Redact    time.Duration // 0: at any age
	Edit      time.Duration // 0: at any age
	Index     bool

	Push         bool
	PushContent  string
	PushContact  string
	PushNetworks []string

	FilesSize    int // bytes; 0: no files are taken
	FilesAccount int
	FilesTotal   int
	FilesPixels  int
	FilesKeep    time.Duration
	FilesURL     string

	Preview         bool
	PreviewPrivate  bool
	PreviewNetworks []string
	PreviewPorts    []string
	PreviewKeep     time.Duration
	PreviewTotal    int // bytes

	PublicRooms   []string
	PublicAge     time.Duration // 0: messages of any age
	PublicIndex   bool
	PublicReaders int

	NATS   []string
	Member string

	Level  string
	Format string
}

// TLSPort returns the port for TLS that clients are told: sts_port, or that of the first of
// listen.tls. It is 0 if there is none.
func (c *Config) TLSPort() int {
	if c.STSPort != 0 || len(c.TLS) == 0 {
		return c.STSPort
	}
	_, word, _ := net.SplitHostPort(c.TLS[0]) // both were checked
	port, _ := strconv.Atoi(word)
	return port
}

// The ways to get an account without an administrator.
const (
	Closed     = "closed"
	Invitation = "invitation"
	Open       = "open"
)

// Default returns the default of every setting.
func Default() *Config {
	c := &Config{}
	for _, s := range settings {
		if err := s.set(c, s.value); err != nil {
			// a test makes sure that it does not happen
			panic("config: the default of " + s.path() + ": " + err.Error())
		}
	}
	return c
}

// An Error is one mistake in a file.
type Error struct {
	File string
	Line int // 0 if the mistake is not in one line
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Changes lists the settings that differ between two configurations: those that change while the
// server runs, and those that need a restart.
func Changes(old, fresh *Config) (live, later []string) {
	for _, s := range settings {
		if show(s.field(old)) == show(s.field(fresh)) {
			continue
		}
		if s.live {
			live = append(live, s.path())
		} else {
			later = append(later, s.path())
		}
	}
	return live, later
}

// Apply returns old with those settings of fresh that may change while the server runs.
func Apply(old, fresh *Config) *Config {
	c := *old
	for _, s := range settings {
		if s.live {
			copyField(s.field(&c), s.field(fresh))
		}
	}
	return &c
}

// copyField copies a field to another of the same setting.
func copyField(to, from any) {
	switch to := to.(type) {
	case *string:
		*to = *from.(*string)
	case *bool:
		*to = *from.(*bool)
	case *int:
		*to = *from.(*int)
	case *time.Duration:
		*to = *from.(*time.Duration)
	case *[]string:
		*to = slices.Clone(*from.(*[]string))
	}
}
