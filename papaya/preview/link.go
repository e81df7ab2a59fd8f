package preview

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxLinks bounds the links of one message that get a preview, and maxURL the bytes of a link.
// Both are guesses.
const (
	maxLinks = 3
	maxURL   = 1000
)

// link is what the page takes for a link (text.js).
var link = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"\x00-\x1f]+`)

// linksIn returns the first links in a text, each once. One in <angle brackets> is left out: so its
// author says that it is to have no preview.
func linksIn(text string) (all []string) {
	for _, at := range link.FindAllStringIndex(text, -1) {
		if len(all) == maxLinks {
			break
		}
		if at[0] > 0 && text[at[0]-1] == '<' && at[1] < len(text) && text[at[1]] == '>' {
			continue
		}
		if one := trimmed(text[at[0]:at[1]]); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// trimmed removes what ends a sentence, and brackets that were opened before the link.
func trimmed(link string) string {
	link = strings.TrimRight(link, ".,;:!?'*")
	for _, pair := range []string{"()", "[]", "{}"} {
		for strings.HasSuffix(link, pair[1:]) &&
			strings.Count(link, pair[1:]) > strings.Count(link, pair[:1]) {
			link = link[:len(link)-1]
		}
	}
	return link
}

// judge parses a link, and says whether it may be followed: by http or https, without a password,
// to a port of the settings, and not to this server's page. Where its name leads is judged by the
// fence.
func (s *Service) judge(link string) (*url.URL, error) {
	if len(link) > maxURL {
		return nil, errLink
	}
	u, err := url.Parse(link)
	if err != nil {
		return nil, errLink
	}
	u.Fragment, u.RawFragment = "", ""
	scheme := map[string]uint16{"http": 80, "https": 443}[u.Scheme]
	host := u.Hostname()
	switch {
	case scheme == 0, u.User != nil, u.Opaque != "", host == "", strings.Contains(host, "%"):
		return u, errLink
	case s.Base != "" && strings.HasPrefix(link, s.Base+"/"):
		return u, errOwn
	}
	port := scheme
	if word := u.Port(); word != "" {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			return u, errLink
		}
		port = uint16(n)
	}
	if !slices.Contains(s.Ports, port) {
		return u, errLink
	}
	return u, nil
}

// hostOf returns the host of a link for messages to administrators.
func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Hostname()
}

// bare returns an error without the URL that it may name.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
