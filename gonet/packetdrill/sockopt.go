package packetdrill

import (
	"time"

	"interleave/gonet/tcp"
)

// This file has the options of sockets, and decides which calls GoNet has something for.

// maxBytes bounds what one call reads or writes.
const maxBytes = 64 << 20

// flagless are the flags of calls that change nothing here: no call of the player raises a signal.
var flagless = map[string]bool{"MSG_DONTWAIT": true, "MSG_NOSIGNAL": true}

// needs returns what a call needs and GoNet does not have.
func (c *Call) needs() error {
	flags := Value{}
	switch c.Name {
	case "socket":
		if t := c.arg(1).Text; t != "SOCK_STREAM" {
			return unsupported("a socket of " + t)
		}
		return nil
	case "bind", "listen", "accept", "connect", "close", "shutdown":
		return nil
	case "fcntl":
		if name := c.arg(1).Text; name != "F_SETFL" && name != "F_GETFL" {
			return lacking(name)
		}
		return nil
	case "ioctl":
		if name := c.arg(1).Text; name != "SIOCINQ" && name != "FIONREAD" {
			return lacking(name)
		}
		return nil
	case "setsockopt", "getsockopt":
		return c.optionNeeds()
	case "read", "write":
	case "send", "recv", "sendto", "recvfrom":
		flags = c.arg(3)
	case "sendmsg", "recvmsg":
		flags = c.arg(2)
		if control, ok := c.arg(1).field("msg_control"); ok {
			return control.controlNeeds()
		}
	case "writev", "readv":
	default:
		return unsupported(c.Name)
	}
	for _, flag := range flags.words() {
		if !flagless[flag] {
			return unsupported(flag)
		}
	}
	if c.arg(1).Text == "NULL" {
		return unsupported("NULL")
	}
	if n := c.size(); n < 0 || n > maxBytes {
		return unsupported("a call with more than 64 MiB")
	}
	return nil
}

// controlNeeds names the first kind of control data.
func (v Value) controlNeeds() error {
	for _, m := range v.List {
		if t, ok := m.field("cmsg_type"); ok {
			return lacking(t.Text)
		}
	}
	return unsupported("msg_control")
}

// lacking returns the error for what a call names.
func lacking(name string) error {
	if name == "" {
		name = "a number in place of a name"
	}
	return unsupported(name)
}

// setters apply an option of sockets. The value of one that has no meaning for the machine is nil.
var setters = map[string]func(f *file, n int64){
	"SO_REUSEADDR":    nil, // one script, one stack: no address is in use
	"IP_TOS":          nil, // the stack's: gonet.Conn has it
	"IP_MTU_DISCOVER": nil, // GoNet always discovers the path MTU
	// Linux doubles it, for its own use of memory.
	"SO_SNDBUF":   func(f *file, n int64) { f.buffer = int(2 * n) },
	"TCP_NODELAY": func(f *file, n int64) { f.cfg.Delay = n == 0 },
	"TCP_MAXSEG": func(f *file, n int64) {
		if f.conn == nil {
			f.cfg.MSS = int(min(max(n, 88), 65495)) // the bounds of Linux
		}
	},
	"TCP_USER_TIMEOUT": func(f *file, n int64) { f.cfg.UserTimeout = millis(n) },
	"SO_KEEPALIVE": func(f *file, n int64) {
		if f.cfg.KeepAlive = 0; n != 0 {
			f.cfg.KeepAlive = 2 * time.Hour // Linux: tcp_keepalive_time
		}
	},
	"TCP_KEEPIDLE":  func(f *file, n int64) { f.cfg.KeepAlive = millis(1000 * n) },
	"TCP_KEEPINTVL": func(f *file, n int64) { f.cfg.KeepInterval = millis(1000 * n) },
	"TCP_KEEPCNT":   func(f *file, n int64) { f.cfg.KeepCount = int(n) },
}

// getters return the value of an option.
var getters = map[string]func(f *file) int64{
	"SO_ERROR": func(f *file) int64 {
		if f.conn == nil || f.conn.machine.Err() == nil {
			return 0
		}
		return -1 // a number of Linux that no script compares
	},
	"TCP_MAXSEG": func(f *file) int64 {
		if f.conn != nil && f.conn.machine.State() >= tcp.Established {
			return int64(f.conn.machine.Info().MSS)
		}
		return int64(f.cfg.MSS)
	},
	"TCP_NODELAY": func(f *file) int64 {
		if f.cfg.Delay {
			return 0
		}
		return 1
	},
	"TCP_USER_TIMEOUT": func(f *file) int64 { return f.cfg.UserTimeout.Milliseconds() },
}

func (c *Call) optionNeeds() error {
	name := c.arg(2).Text
	_, known := setters[name]
	if c.Name == "getsockopt" {
		_, known = getters[name]
	}
	if !known {
		return lacking(name)
	}
	return nil
}

// number returns the number of an option's value: [1], or 1.
func (v Value) number() int64 {
	if len(v.List) > 0 {
		return v.List[0].Number
	}
	return v.Number
}

func (f *file) setOption(c *Call) attempt {
	if set := setters[c.arg(2).Text]; set != nil {
		set(f, min(max(c.arg(3).number(), 0), maxBytes))
		if f.conn != nil {
			f.conn.machine.Reconfigure()
		}
	}
	return atOnce(0)
}

func (p *player) getOption(f *file, c *Call) (attempt, error) {
	name := c.arg(2).Text
	if got, want := getters[name](f), c.arg(3); want.Kind == List && got != want.number() {
		return nil, p.differs("%s is %d, want %d", name, got, want.number())
	}
	return atOnce(0), nil
}
