package quick

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxFile bounds a file in bytes. A peer has about 200.
const maxFile = 1 << 20

// parser has the state between two lines.
type parser struct {
	name   string
	line   int
	config Config
	errs   []error

	section string         // "", "interface", "peer", or "?" for one that is unknown
	opened  int            // the line of the section
	given   map[string]int // the keys of the section with one value, and their lines
	hosts   int            // the number of [Interface] sections

	peerLines []int
	routes    map[netip.Prefix]int // AllowedIPs of all peers, and their lines
}

// Parse reads a file. name is for messages. An error says all that is wrong, each with its line,
// and never contains a key.
func Parse(name string, r io.Reader) (*Config, error) {
	p := &parser{name: name, given: map[string]int{}, routes: map[netip.Prefix]int{}}
	p.config.MTU = DefaultMTU
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s: more than 1 MiB: this is no file of wg-quick", name)
	}
	text := strings.TrimPrefix(string(b), "\ufeff") // as editors of Windows write it
	for line := range strings.Lines(text) {
		p.line++
		line, _, _ = strings.Cut(line, "#")
		p.parse(strings.TrimSpace(line))
	}
	p.endSection()
	p.checkWhole()
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return &p.config, nil
}

// place returns a message with the file and a line before it; line 0 is the whole file.
func (p *parser) place(line int, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if line == 0 {
		return p.name + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", p.name, line, text)
}

func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, errors.New(p.place(line, format, args...)))
}

func (p *parser) note(line int, format string, args ...any) {
	p.config.Notes = append(p.config.Notes, p.place(line, format, args...))
}

// parse takes a line, without its comment.
func (p *parser) parse(text string) {
	if text == "" {
		return
	}
	if strings.HasPrefix(text, "[") {
		p.endSection()
		p.beginSection(text)
		return
	}
	key, value, found := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !found {
		p.fail(p.line, "expected KEY = VALUE, or a section such as [Peer]")
		return
	}
	keys := interfaceKeys
	switch p.section {
	case "?":
		return // the section's line has been reported
	case "":
		p.fail(p.line, "%s stands before the first section: expected [Interface]", shown(key))
		return
	case "peer":
		keys = peerKeys
	}
	k, ok := keys[strings.ToLower(key)]
	switch {
	case !ok:
		p.unknown(key)
	case k.parse == nil:
		p.note(p.line, "%s is ignored: %s", k.name, k.ignored)
	case value == "" && !k.empty:
		p.fail(p.line, "%s has no value", k.name)
	default:
		if first, again := p.given[k.name]; again && !k.list {
			p.fail(p.line, "%s was given already, in line %d", k.name, first)
			return
		}
		p.given[k.name] = p.line
		if err := k.parse(p, value); err != nil {
			p.fail(p.line, "%s: %v", k.name, err)
		}
	}
}

// shown returns a text of the file for a message, in quotes. A text that could be a key, or contain
// one, is not shown.
func shown(text string) string {
	const longest, longestRun = 80, 24 // a key has 44 characters of base64
	run := 0
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			strings.ContainsRune("+/=", r):
			run++
		default:
			run = 0
		}
		if run == longestRun || !strconv.IsPrint(r) {
			return "(a text that is not shown)"
		}
	}
	if len(text) > longest {
		return "(a long text)"
	}
	return strconv.Quote(text)
}

// unknown reports a key that the section does not have.
func (p *parser) unknown(key string) {
	other, name := peerKeys, "[Peer]"
	if p.section == "peer" {
		other, name = interfaceKeys, "[Interface]"
	}
	if k, ok := other[strings.ToLower(key)]; ok {
		p.fail(p.line, "%s belongs to %s", k.name, name)
		return
	}
	p.fail(p.line, "%s is not known", shown(key))
}

func (p *parser) beginSection(text string) {
	clear(p.given)
	p.opened = p.line
	switch strings.ToLower(text) {
	case "[interface]":
		p.section = "interface"
		if p.hosts++; p.hosts == 2 {
			p.fail(p.line, "a second [Interface]: expected one")
		}
	case "[peer]":
		p.section = "peer"
		p.config.Peers = append(p.config.Peers, Peer{})
		p.peerLines = append(p.peerLines, p.line)
	default:
		p.section = "?"
		p.fail(p.line, "a section that is not known: expected [Interface] or [Peer]; "+
			"proxies and forwards are flags of the command")
	}
}

// peer is the one whose section is read.
func (p *parser) peer() *Peer { return &p.config.Peers[len(p.config.Peers)-1] }

// endSection checks the section that ends.
func (p *parser) endSection() {
	switch p.section {
	case "interface":
		for _, key := range []string{"PrivateKey", "Address"} {
			if p.given[key] == 0 {
				p.fail(p.opened, "[Interface] has no %s", key)
			}
		}
	case "peer":
		if p.given["PublicKey"] == 0 {
			p.fail(p.opened, "[Peer] has no PublicKey")
		}
		if len(p.peer().AllowedIPs) == 0 && p.given["AllowedIPs"] == 0 {
			p.note(p.opened, "[Peer] has no AllowedIPs: nothing is sent to it")
		}
	}
	p.section = ""
}

// checkWhole checks what concerns several sections.
func (p *parser) checkWhole() {
	if p.hosts == 0 {
		p.fail(0, "no [Interface]: this is no file of wg-quick")
	}
	if len(p.config.Peers) == 0 {
		p.fail(0, "no [Peer]: there is nobody to connect to")
	}
	six := slices.ContainsFunc(p.config.Addresses, func(a netip.Prefix) bool {
		return a.Addr().Is6()
	})
	if six && p.config.MTU < leastMTU6 {
		p.fail(0, "an MTU of %d: IPv6 needs %d", p.config.MTU, leastMTU6)
	}
	known, mine := map[PublicKey]int{}, p.config.PrivateKey.Public()
	for i, peer := range p.config.Peers {
		if peer.PublicKey == mine {
			p.fail(p.peerLines[i], "the PublicKey of this [Peer] is that of [Interface] itself")
		}
		first, again := known[peer.PublicKey]
		if again && peer.PublicKey != (PublicKey{}) {
			p.fail(p.peerLines[i], "the [Peer] in line %d has the same PublicKey", first)
		}
		known[peer.PublicKey] = p.peerLines[i]
	}
}
