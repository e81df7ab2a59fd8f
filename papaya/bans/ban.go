package bans

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"interleave/papaya/irc"
)

// A Ban keeps its target out of the server. Times are in milliseconds since 1970.
type Ban struct {
	Target Target
	By     string // who has set it: an account, or what the administrator is called
	Why    string
	Set    int64
	Until  int64 // 0: for ever
}

// Ended says whether the ban is over at a time.
func (b Ban) Ended(now int64) bool { return b.Until != 0 && b.Until <= now }

// End returns when the ban ends, as people read it.
func (b Ban) End() string {
	if b.Until == 0 {
		return "forever"
	}
	return time.UnixMilli(b.Until).UTC().Format(time.DateTime + " UTC")
}

// Text tells those who are banned why, and until when.
func (b Ban) Text() string {
	text := "You are banned from this server"
	if b.Until != 0 {
		text += " until " + b.End()
	}
	if b.Why != "" {
		text += ": " + b.Why
	}
	return text
}

// shown is the form of a ban in JSON.
type shown struct {
	Target string    `json:"target"`
	Kind   string    `json:"kind"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Set    time.Time `json:"set"`
	Until  time.Time `json:"until,omitzero"`
}

// MarshalJSON implements json.Marshaler.
func (b Ban) MarshalJSON() ([]byte, error) {
	s := shown{Target: b.Target.String(), Kind: b.Target.Kind().String(), By: b.By, Reason: b.Why,
		Set: time.UnixMilli(b.Set).UTC()}
	if b.Until != 0 {
		s.Until = time.UnixMilli(b.Until).UTC()
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Ban) UnmarshalJSON(data []byte) (err error) {
	var s shown
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*b = Ban{By: s.By, Why: s.Reason, Set: s.Set.UnixMilli()}
	if !s.Until.IsZero() {
		b.Until = s.Until.UnixMilli()
	}
	b.Target, err = Parse(s.Target)
	return err
}

// A List is bans, each of another target. It is never changed: each change returns another list, so
// any goroutine may read it.
type List []Ban

// With returns a list with a ban, which replaces that of the same target.
func (l List) With(b Ban) List {
	rest, _, _ := l.Without(b.Target)
	return append(slices.Clip(rest), b)
}

// Without returns a list without the ban of a target, and that ban.
func (l List) Without(t Target) (rest List, b Ban, found bool) {
	i := slices.IndexFunc(l, func(b Ban) bool { return b.Target.Same(t) })
	if i < 0 {
		return l, Ban{}, false
	}
	return slices.Concat(l[:i], l[i+1:]), l[i], true
}

// At returns a list of the bans that have not ended at a time, and those that have.
func (l List) At(now int64) (open, ended List) {
	for _, b := range l {
		if b.Ended(now) {
			ended = append(ended, b)
		} else {
			open = append(open, b)
		}
	}
	return open, ended
}

// NextEnd returns when the next ban ends; 0 if none does.
func (l List) NextEnd() (next int64) {
	for _, b := range l {
		if b.Until != 0 && (next == 0 || b.Until < next) {
			next = b.Until
		}
	}
	return next
}

// longest returns the ban that lasts the longest among those that hold at a time.
func (l List) longest(now int64, holds func(Target) bool) (long Ban, found bool) {
	for _, b := range l {
		if !b.Ended(now) && holds(b.Target) && (!found || b.Until == 0 ||
			long.Until != 0 && b.Until > long.Until) {
			long, found = b, true
		}
	}
	return long, found
}

// Account returns the ban of an account that holds at a time.
func (l List) Account(name string, now int64) (Ban, bool) {
	name = irc.Lower(name)
	return l.longest(now, func(t Target) bool { return t.HasAccount(name) })
}

// Address returns the ban of an address that holds at a time.
func (l List) Address(a netip.Addr, now int64) (Ban, bool) {
	return l.longest(now, func(t Target) bool { return t.HasAddress(a) })
}

// Source returns the ban of a nick!user@host that holds at a time.
func (l List) Source(source string, now int64) (Ban, bool) {
	source = irc.Lower(source) // once, and not for each mask
	return l.longest(now, func(t Target) bool { return t.HasSource(source) })
}

// Renamed returns a list in which the ban of an account goes with its new name.
func (l List) Renamed(account, name string) List {
	rest, b, found := l.Without(Target{kind: Account, name: account})
	if !found {
		return l
	}
	b.Target.name = name
	return rest.With(b)
}
