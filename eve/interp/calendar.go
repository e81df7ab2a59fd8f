package interp

import (
	"strings"
	"time"
)

const billion = 1_000_000_000

// registerCalendar makes the natives of instants, which are nanoseconds since 1970, and of module
// time.
func registerCalendar() {
	register(map[string]func(*called) value{
		"instant.from_unix": func(c *called) value {
			seconds := c.int(0)
			if seconds*billion/billion != seconds {
				c.noInstant()
			}
			return seconds * billion
		},
		"instant.from_unix_nanoseconds": func(c *called) value { return c.int(0) },
		"instant.iso":                   func(c *called) value { return instantText(c.instant()) },
		"instant.unix": func(c *called) value {
			return time.Unix(0, c.instant()).Unix()
		},
		"instant.unix_nanoseconds": func(c *called) value { return c.instant() },
		"instant.plus": func(c *called) value {
			then, d := c.instant()+c.int(1), c.int(1)
			if (then < c.instant()) != (d < 0) {
				c.noInstant()
			}
			return then
		},
		"instant.since": func(c *called) value {
			now, earlier := c.instant(), c.int(1)
			if (now-earlier < 0) != (now < earlier) {
				fail(c.at, "a duration is 292 years at most")
			}
			return now - earlier
		},
		"instant.before": func(c *called) value { return c.instant() < c.int(1) },
		"time.local_offset": func(c *called) value {
			_, ahead := time.Unix(0, c.int(0)).In(c.in.zone()).Zone()
			return int64(ahead) * 1e9
		},
	})
}

// instant is the receiver.
func (c *called) instant() int64 { return (*c.self()).(int64) }

func (c *called) noInstant() { fail(c.at, "an instant is from 1677 to 2262") }

// zone is the local zone, which TZ names: "Europe/Lisbon", ":UTC". As in libc, an unknown one is
// UTC.
// Rules written out, as in "CET-1CEST", are not understood here.
func (in *interp) zone() *time.Location {
	if in.options.Env == nil {
		return time.Local
	}
	name, set := in.options.Env("TZ")
	if !set {
		return time.Local
	}
	if there, err := time.LoadLocation(strings.TrimPrefix(name, ":")); err == nil {
		return there
	}
	return time.UTC
}

// instantText writes an instant as ISO text.
func instantText(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.999999999Z")
}
