// Package bans has the bans of a whole server: whom they are for, why, and until when. It is pure.
package bans

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"interleave/papaya/irc"
)

// A Kind says what a ban is about.
type Kind byte

// The kinds of bans.
const (
	Account Kind = iota + 1 // an account, wherever it connects from
	Network                 // an address, or all addresses of a network
	Mask                    // nick!user@host, with the host as others see it
)

// String returns the word that lists have.
func (k Kind) String() string {
	return map[Kind]string{Account: "account", Network: "address", Mask: "mask"}[k]
}

// A Target is whom a ban is for.
type Target struct {
	kind    Kind
	name    string // the account or the mask
	network netip.Prefix
}

// maxTarget is in bytes, as for the masks of rooms. A guess.
const maxTarget = 100

// accountMask begins the name of an account in the lists of rooms. It is understood here, too.
const accountMask = "~a:"

// The errors of Parse.
var (
	errTarget = errors.New("expected an account, an address, a network as 192.0.2.0/24, or a " +
		"mask as nick!user@host")
	errLong      = fmt.Errorf("it is longer than %d bytes", maxTarget)
	errAddress   = errors.New("it is no address and no network")
	errEverybody = errors.New("that would be everybody")
	errLoopback  = errors.New("clients on the server's own machine cannot be banned by address")
)

// loopbacks are the addresses of the machine itself.
var loopbacks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("::1/128")}

// Parse parses whom a ban is for: the name of an account, an address, a network, or a mask. A mask
// may lack parts, as those of rooms may: *.example is *!*@*.example.
func Parse(word string) (Target, error) {
	account, named := strings.CutPrefix(word, accountMask)
	switch {
	case len(word) > maxTarget:
		return Target{}, errLong
	case irc.IsNick(account):
		return Target{kind: Account, name: account}, nil
	case named, word == "":
		return Target{}, errTarget
	case !strings.ContainsAny(word, "!@*?"):
		if n, err := parseNetwork(word); err == nil || looksLikeAddress(word) {
			return n, err
		}
	}
	return parseMask(word)
}

// looksLikeAddress says whether a word without wildcards is meant as an address.
func looksLikeAddress(word string) bool {
	return strings.ContainsAny(word, ":/") || strings.Trim(word, "0123456789.") == ""
}

func parseNetwork(word string) (Target, error) {
	var network netip.Prefix
	if a, err := netip.ParseAddr(word); err == nil {
		a = a.Unmap()
		network = netip.PrefixFrom(a, a.BitLen())
		if a.Zone() != "" {
			return Target{}, errAddress
		}
	} else if network, err = netip.ParsePrefix(word); err != nil {
		return Target{}, errAddress
	}
	const mapped = 96 // bits before an address of IPv4 within one of IPv6 (RFC 4291, 2.5.5.2)
	if network.Addr().Is4In6() {
		if network.Bits() < mapped {
			return Target{}, errAddress
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mapped)
	}
	network = network.Masked()
	if network.Bits() == 0 {
		return Target{}, errEverybody
	}
	for _, l := range loopbacks {
		if l.Contains(network.Addr()) && network.Bits() >= l.Bits() {
			return Target{}, errLoopback
		}
	}
	return Target{kind: Network, network: network}, nil
}

// nobody is a source with a nick and a user that no mask names.
const nobody = "\x01!\x01@"

func parseMask(word string) (Target, error) {
	for i := range len(word) {
		if c := word[i]; c <= ' ' || c == ',' || c == 127 {
			return Target{}, errTarget
		}
	}
	if word == "" || word[0] == ':' || !strings.ContainsAny(word, "!@*?.") {
		return Target{}, errTarget
	}
	mask := irc.FullMask(word)
	switch {
	case len(mask) > maxTarget:
		return Target{}, errLong
	case strings.Trim(mask, "*?!@.:") == "":
		return Target{}, errEverybody
	case irc.Match(mask, nobody+"127.0.0.1"), irc.Match(mask, nobody+"0::1"):
		return Target{}, errLoopback
	}
	return Target{kind: Mask, name: mask}, nil
}

// Kind returns what the ban is about.
func (t Target) Kind() Kind { return t.kind }

// String returns the target in the form that Parse reads.
func (t Target) String() string {
	switch {
	case t.kind != Network:
		return t.name
	case t.network.IsSingleIP():
		return t.network.Addr().String()
	}
	return t.network.String()
}

// Account returns the name of the account; empty if the ban is not about one.
func (t Target) Account() string {
	if t.kind == Account {
		return t.name
	}
	return ""
}

// Network returns the network; it is not valid if the ban is not about one.
func (t Target) Network() netip.Prefix { return t.network }

// Same says whether two targets are one. Case does not count.
func (t Target) Same(o Target) bool {
	return t.kind == o.kind && irc.Lower(t.String()) == irc.Lower(o.String())
}

// HasAccount says whether the target is an account.
func (t Target) HasAccount(name string) bool {
	return t.kind == Account && irc.Lower(t.name) == irc.Lower(name)
}

// HasAddress says whether the target has an address. One of IPv4 may be written within IPv6.
func (t Target) HasAddress(a netip.Addr) bool {
	return t.kind == Network && t.network.Contains(a.Unmap().WithZone(""))
}

// HasSource says whether the target has a nick!user@host.
func (t Target) HasSource(source string) bool {
	return t.kind == Mask && irc.Match(t.name, source)
}
