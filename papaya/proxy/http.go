package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// The headers in which a proxy names the client.
const (
	XForwardedFor = "X-Forwarded-For" // with X-Forwarded-Proto
	Forwarded     = "Forwarded"       // RFC 7239
)

// ErrUnnamed reports a request in which no proxy names a client.
var ErrUnnamed = errors.New("the reverse proxy does not say whose request it is")

// maxHops bounds the hops of a header. A chain of proxies has two or three.
const maxHops = 64

// Client returns the client of a request from a proxy. Only the named header is read: a proxy that
// sets one of the two passes on the other as a client has written it.
func (n Networks) Client(h http.Header, name string) (Client, error) {
	values := h.Values(name)
	if len(values) == 0 {
		return Client{}, ErrUnnamed
	}
	list := strings.Join(values, ",")
	if strings.Count(list, ",") >= maxHops {
		return Client{}, fmt.Errorf("%s has more than %d hops", name, maxHops)
	}
	var hops []hop
	var err error
	if name == XForwardedFor {
		hops = parseForwardedFor(list)
	} else {
		hops, err = parseForwarded(list)
	}
	if err == nil && len(hops) == 0 {
		return Client{}, ErrUnnamed
	}
	var c Client
	if err == nil {
		c, err = n.last(hops)
	}
	if err != nil {
		return Client{}, fmt.Errorf("%s: %w", name, err)
	}
	if name == XForwardedFor {
		c.Secure = allSecure(h.Values("X-Forwarded-Proto"))
	}
	return c, nil
}

// allSecure says whether each proxy that tells the scheme of its client tells an encrypted one, and
// one of them tells it.
func allSecure(values []string) bool {
	words := strings.Split(strings.Join(values, ","), ",")
	return !slices.ContainsFunc(words, func(w string) bool { return !encrypted(w) })
}

func encrypted(scheme string) bool {
	scheme = strings.ToLower(textproto.TrimString(scheme))
	return scheme == "https" || scheme == "wss"
}

func parseForwardedFor(list string) (hops []hop) {
	for word := range strings.SplitSeq(list, ",") {
		if word = textproto.TrimString(word); word != "" {
			hops = append(hops, hop{address: word})
		}
	}
	return hops
}

// parseForwarded parses the value of Forwarded: elements divided by commas, of pairs divided by
// semicolons (RFC 7239, section 4).
func parseForwarded(list string) ([]hop, error) {
	var hops []hop
	for rest, more := list, true; more; {
		var element map[string]string
		var err error
		if element, rest, more, err = cutElement(rest); err != nil {
			return nil, err
		}
		if len(element) == 0 {
			continue // an empty element of a list means nothing (RFC 9110, section 5.6.1.2)
		}
		hops = append(hops, hop{address: element["for"], secure: encrypted(element["proto"])})
	}
	return hops, nil
}

// cutElement parses the first element of a list. more says that a comma followed it.
func cutElement(s string) (pairs map[string]string, rest string, more bool, err error) {
	pairs = map[string]string{}
	for {
		s = strings.TrimLeft(s, " \t")
		if s != "" && s[0] != ';' && s[0] != ',' {
			var name, value string
			if name, value, s, err = cutPair(s); err != nil {
				return nil, "", false, err
			}
			if _, twice := pairs[name]; twice {
				return nil, "", false, fmt.Errorf("%q twice in one element", name)
			}
			pairs[name] = value
			s = strings.TrimLeft(s, " \t")
		}
		switch {
		case s == "":
			return pairs, "", false, nil
		case s[0] == ',':
			return pairs, s[1:], true, nil
		case s[0] != ';':
			return nil, "", false, fmt.Errorf("expected ; or , before %q", s)
		}
		s = s[1:]
	}
}

// cutPair parses a pair: a token, =, and a token or a quoted string.
func cutPair(s string) (name, value, rest string, err error) {
	name, s = cutToken(s)
	if name == "" || !strings.HasPrefix(s, "=") {
		return "", "", "", fmt.Errorf("expected NAME=VALUE at %q", name+s)
	}
	s = s[1:]
	if strings.HasPrefix(s, `"`) {
		value, rest, err = cutQuoted(s)
	} else if value, rest = cutToken(s); value == "" {
		err = fmt.Errorf("expected a value at %q", s)
	}
	return strings.ToLower(name), value, rest, err
}

// cutToken cuts a token (RFC 9110, section 5.6.2). It also takes the colon and the brackets of an
// address that a proxy has not quoted, as some do.
func cutToken(s string) (token, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~:[]", r)
	})
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

// cutQuoted cuts a quoted string (RFC 9110, section 5.6.4).
func cutQuoted(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", fmt.Errorf("a quoted string does not end: %s", s)
}
