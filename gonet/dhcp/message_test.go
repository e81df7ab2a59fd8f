package dhcp

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"interleave/gonet/wire"
)

func sample() Message {
	none := netip.IPv4Unspecified()
	m := Message{XID: 0x01020304, Secs: 7, Broadcast: true, Client: none, Yours: address,
		Next: none, Relay: none, MAC: ours}
	m.Set(OptionType, byte(Offer))
	m.SetAddr(OptionServer, server)
	m.SetTime(OptionTime, time.Hour)
	return m
}

func TestMessage(t *testing.T) {
	m := sample()
	m.Options = append(m.Options, Option{OptionText, bytes.Repeat([]byte("long "), 100)})
	b := m.Append([]byte("before"))
	got, err := Parse(b[6:])
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, m)
	}
	if got.Type() != Offer || got.Addr(OptionServer) != server ||
		got.Time(OptionTime) != time.Hour || got.Addr(OptionDNS).IsValid() {
		t.Errorf("%+v", got)
	}
	small := sample()
	if n := len(small.Append(nil)); n != minLen {
		t.Errorf("a small message has %d bytes, want %d: servers drop less", n, minLen)
	}
}

// TestOverload has options in the fields sname and file, in the order of RFC 3396 section 5:
// options, file, sname.
func TestOverload(t *testing.T) {
	m := sample()
	m.Set(optionOverload, 3)
	m.Set(OptionDomain, []byte("in ")...)
	b := m.Append(nil)
	copy(b[fileAt:], []byte{byte(OptionDomain), 4, 'f', 'i', 'l', 'e', 0, byte(optionEnd)})
	copy(b[nameAt:], []byte{byte(OptionDomain), 5, ' ', 'n', 'a', 'm', 'e', byte(optionEnd)})
	got, err := Parse(b)
	if s := string(got.Get(OptionDomain)); err != nil || s != "in file name" {
		t.Errorf("%q, %v", s, err)
	}
	b[fileAt+1] = 200
	if _, err := Parse(b); !errors.Is(err, ErrOptions) {
		t.Errorf("an option that runs out of its field: %v", err)
	}
}

func TestNoMessage(t *testing.T) {
	m := sample()
	whole := m.Append(nil)
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"nothing", func([]byte) []byte { return nil }, ErrShort},
		{"without a cookie", func(b []byte) []byte { return b[:fixedLen+3] }, ErrShort},
		{"a wrong cookie", func(b []byte) []byte { b[fixedLen] = 0; return b }, ErrFormat},
		{"no operation", func(b []byte) []byte { b[0] = 3; return b }, ErrFormat},
		{"of token ring", func(b []byte) []byte { b[1] = 6; return b }, ErrFormat},
		{"cut in an option", func(b []byte) []byte { return b[:fixedLen+cookieLen+5] }, ErrOptions},
	} {
		if _, err := Parse(c.change(bytes.Clone(whole))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestUselessOffers(t *testing.T) {
	now := time.Now()
	for name, change := range map[string]func(*Message){
		"no time":           func(m *Message) { m.Options = m.Options[:2] },
		"a mask with holes": func(m *Message) { m.Set(OptionMask, 255, 0, 255, 0) },
		"to all":            func(m *Message) { m.Yours = netip.MustParseAddr("255.255.255.255") },
		"of a group":        func(m *Message) { m.Yours = netip.MustParseAddr("224.0.0.1") },
		"nothing":           func(m *Message) { m.Yours = netip.IPv4Unspecified() },
	} {
		in := sample()
		in.Reply = true
		change(&in)
		m := NewMachine(Config{MAC: ours, Seed: 1}, now)
		m.Expire(now)
		in.XID = m.xid
		m.Input(&in, now)
		if m.State() != Selecting {
			t.Errorf("%s: the client is %v", name, m.State())
		}
	}
}

// TestTimesOfALease holds T1 and T2 when the server sends none, or wrong ones.
func TestTimesOfALease(t *testing.T) {
	for _, c := range []struct{ t1, t2, want1, want2 time.Duration }{
		{0, 0, 1800 * time.Second, 3150 * time.Second},
		{600 * time.Second, 1200 * time.Second, 600 * time.Second, 1200 * time.Second},
		{2 * time.Hour, 3 * time.Hour, 1800 * time.Second, 3150 * time.Second},
		// half of the lease time would be after T2
		{0, 1000 * time.Second, 500 * time.Second, 1000 * time.Second},
	} {
		in := sample()
		if c.t1 > 0 {
			in.SetTime(OptionT1, c.t1)
		}
		if c.t2 > 0 {
			in.SetTime(OptionT2, c.t2)
		}
		from := time.Now()
		m := NewMachine(Config{MAC: wire.MAC{2}}, from)
		l, ok := m.read(&in, from)
		if got1, got2 := l.T1.Sub(from), l.T2.Sub(from); !ok || got1 != c.want1 || got2 != c.want2 {
			t.Errorf("%v, %v: got %v, %v, %v", c.t1, c.t2, got1, got2, ok)
		}
		if l.Address.Bits() != 24 { // by the class, as there is no mask
			t.Errorf("%v", l.Address)
		}
	}
}

// FuzzMessage holds that a parsed message is written as it was, and that every message leaves a
// client in order.
func FuzzMessage(f *testing.F) {
	m := sample()
	f.Add(m.Append(nil))
	m.Set(optionOverload, 3)
	f.Add(m.Append(nil))
	f.Add(bytes.Repeat([]byte{1}, 300))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		again := m
		again.Options = nil
		for _, o := range m.Options {
			if o.Code != optionOverload {
				again.Options = append(again.Options, o)
			}
		}
		if got, err := Parse(again.Append(nil)); err != nil || !same(got, again) {
			t.Fatalf("%v\nread  %+v\nagain %+v", err, again, got)
		}
		now := time.Now()
		c := NewMachine(Config{MAC: m.MAC, Seed: 1}, now)
		for range 8 {
			c.Expire(now)
			m.XID = c.xid
			c.Input(&m, now)
			for {
				if _, ok := c.Output(); !ok {
					break
				}
			}
			if due := c.Deadline(); !due.IsZero() {
				now = due
			}
		}
	})
}

// same compares messages; a nil value equals an empty one.
func same(a, b Message) bool {
	if len(a.Options) != len(b.Options) {
		return false
	}
	for i := range a.Options {
		if a.Options[i].Code != b.Options[i].Code ||
			!bytes.Equal(a.Options[i].Value, b.Options[i].Value) {
			return false
		}
	}
	a.Options, b.Options = nil, nil
	return reflect.DeepEqual(a, b)
}
