// Package config reads what a server is told, from one file of TOML, or from none: every
// setting has a default.
//
// All settings stand in one table (settings.go): reading, the example, the documentation's list and
// what a reload may change are made from it, so that they cannot differ.
package config

import (
	"fmt"
	"slices"
	"time"
)

// A Config is all settings.
type Config struct {
	File string // where it was read; empty for none

	Name    string
	Network string
	MOTD    string
	Data    string

	Plain   []string
	TLS     []string
	Web     []string
	Metrics string
	Origins []string

	Domains     []string
	ACME        bool
	ACMEEmail   string
	Directory   string
	Certificate string
	Key         string

	Required     bool
	Registration string

	Connections  int
	PerAddress   int
	ConnectBurst int
	ConnectEvery time.Duration
	Register     time.Duration
	Silent       time.Duration
	Answer       time.Duration
	Unread       int
	Rooms        int
	LineBurst    int
	LineEvery    time.Duration

	Keep      time.Duration
	KeepRooms []string

	NATS   []string
	Member string

	Level  string
	Format string
}

// How accounts are made, besides by an administrator.
const (
	Closed     = "closed"
	Invitation = "invitation"
	Open       = "open"
)

// Default is what a server does that was told nothing.
func Default() *Config {
	c := &Config{}
	for _, s := range settings {
		if err := s.set(c, s.value); err != nil {
			panic("config: the default of " + s.path() + ": " + err.Error()) // a test makes it
		}
	}
	return c
}

// An Error is one mistake in a file.
type Error struct {
	File string
	Line int // 0 if it is about the whole
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Changes lists the settings that differ between two, those that change while the server runs and
// those that need a start.
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

// Apply is old with the settings of fresh that may change while the server runs.
// Neither is changed.
func Apply(old, fresh *Config) *Config {
	c := *old
	for _, s := range settings {
		if s.live {
			copyField(s.field(&c), s.field(fresh))
		}
	}
	return &c
}

// copyField copies one field to another of its type; both come from one setting.
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
