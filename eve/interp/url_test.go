package interp_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// Parts of a URL that util.url accepts are those of net/url, and its text is read again as the
// same.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"", "http://user:pw@Example.com:8080/a/b;c?q=1&r#frag", "//host/x",
		"a/b",
		"mailto:a@b.c", "http://[::1]:80/", "http://[fe80::1%25en0]/", "http://[1:2]/",
		"http://h:99999", "http://h:/", "?", "#", "a:b", "1:b", "./a:b", "%zz", "%", "http://a b/",
		"/\xff", "urn:a:b:c", "http://[::ffff:1.2.3.4]", "http://[v1.a]/", "file:///x", "x://?#",
		"HTTP://A", "http://h/%41", "///x"} {
		f.Add(s)
	}
	p := newTool(f, "url", `
    match url.parse(args[0]):
        ok(r):
            parts: string = f"{r.scheme}\n{r.host else "-"}\n{r.port else -1}\n{r.path}\n"
            say(f"{parts}{r.query else "-"}\n{r.fragment else "-"}\n{r.text()}")
        error(e): wrong(e)
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		got, wrong := p.call(t, text)
		if wrong != "" {
			at, err := strconv.Atoi(wrong[:strings.IndexByte(wrong, ' ')])
			if err != nil || at < 0 || at > len(text) {
				t.Fatalf("%q: %s", text, wrong)
			}
			return
		}
		parts := strings.Split(got, "\n")
		again, _ := p.call(t, parts[6])
		if again != got {
			t.Fatalf("%q: %q, and of its text %q", text, got, again)
		}
		if strings.HasPrefix(text, "///") {
			return // net/url takes the empty host and the slashes for a part of the path
		}
		u, err := url.Parse(text)
		if err != nil {
			// net/url decodes a host, and refuses escapes of ASCII in it and future addresses
			if host := parts[1]; strings.Contains(host, "%") || strings.HasPrefix(host, "[v") {
				return
			}
			t.Fatalf("%q: %q, and net/url: %v", text, got, err)
		}
		path := u.EscapedPath()
		if u.Opaque != "" {
			path = u.Opaque
		}
		for i, want := range []string{u.Scheme, "", "", path} {
			if i != 1 && i != 2 && parts[i] != want {
				t.Errorf("%q: part %d is %q, want %q", text, i, parts[i], want)
			}
		}
		if host := strings.Trim(parts[1], "[]"); host != "-" && !strings.Contains(host, "%") &&
			host != strings.ToLower(u.Hostname()) {
			t.Errorf("%q: the host is %q, want %q", text, host, u.Hostname())
		}
		if n, err := strconv.Atoi(u.Port()); err == nil && parts[2] != strconv.Itoa(n) {
			t.Errorf("%q: the port is %q, want %d", text, parts[2], n)
		}
		if query := strings.TrimPrefix(parts[4], "-"); query !=
			strings.TrimPrefix(u.RawQuery, "-") {
			t.Errorf("%q: the query is %q, want %q", text, parts[4], u.RawQuery)
		}
		if fragment := strings.TrimPrefix(parts[5], "-"); fragment !=
			strings.TrimPrefix(u.EscapedFragment(), "-") {
			t.Errorf("%q: the fragment is %q, want %q", text, parts[5], u.EscapedFragment())
		}
	})
}

// A query is decoded as net/url decodes it, but ; is a character like others; an escaped text is
// decoded to itself.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "a=1&b=2", "a", "=", "&&", "a=b=c", "%41+%2b=%26", "%", "a=%4",
		"a=%zz&b", "\xff=\x00", "a=1&a=2"} {
		f.Add(s)
	}
	p := newTool(f, "url", `
    if args[0] == "escape":
        match url.decode(url.encode(args[1])):
            ok(s): say(s)
            error(e): wrong(e)
        return
    match url.parse_query(args[1]):
        ok(pairs): say(url.build_query(pairs))
        error(e): wrong(e)
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		if got, wrong := p.call(t, "escape", text); got != text {
			t.Errorf("%q is decoded as %q, %s", text, got, wrong)
		}
		if strings.Contains(text, ";") {
			return
		}
		var want []string // as it should be written
		var bad error
		for pair := range strings.SplitSeq(text, "&") {
			if pair == "" {
				continue
			}
			name, value, _ := strings.Cut(pair, "=")
			n, err := url.QueryUnescape(name)
			v, err2 := url.QueryUnescape(value)
			if err != nil || err2 != nil {
				bad = err
				if err == nil {
					bad = err2
				}
			}
			want = append(want, url.QueryEscape(n)+"="+url.QueryEscape(v))
		}
		got, wrong := p.call(t, "query", text)
		if (bad != nil) != (wrong != "") || bad == nil && got != strings.Join(want, "&") {
			t.Errorf("%q: got %q %s, want %q %v", text, got, wrong, strings.Join(want, "&"), bad)
		}
	})
}
