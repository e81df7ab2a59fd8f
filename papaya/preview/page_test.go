package preview

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

func TestReadPage(t *testing.T) {
	const html, utf8Type = "text/html", "text/html; charset=utf-8"
	for _, c := range []struct {
		name, kind, page         string
		title, text, site, image string
	}{
		{"nothing", html, "", "", "", "", ""},
		{"title", utf8Type, "<title> A\n &lt;b&gt; </title>", "A <b>", "", "", ""},
		{"the first title", html, "<title>one</title><title>two</title>", "one", "", "", ""},
		{"no end", html, "<title>one", "one", "", "", ""},
		{"Open Graph", html, `<title>t</title><meta property=og:title content=o>
			<meta property="og:description" content='d'><meta property="og:site_name" content="s">
			<meta property="og:image" content="/i.png">`, "o", "d", "s", "http://x.example/i.png"},
		{"cards", html, `<META NAME="Twitter:Title" CONTENT="c"><meta name=twitter:description
			content=d><meta name="twitter:image" content="//cdn.example/i">`, "c", "d", "",
			"http://cdn.example/i"},
		{"description", html, `<meta name=description content=d>`, "", "d", "", ""},
		{"order", html, `<meta content="o" property="og:title"><meta property="og:title"
			content="p">`, "o", "", "", ""},
		{"empty values", html, `<title>t</title><meta property=og:title content=" ">`, "t", "", "",
			""},
		{"only the head", html, `<head></head><meta property=og:title content=o>`, "", "", "", ""},
		{"only the head, without its end", html, `<title>t</title><body><meta property=og:title
			content=o><svg><title>no</title></svg>`, "t", "", "", ""},
		{"in a script", html, `<script>"<title>no</title>"</script><title>t</title>`, "t", "", "",
			""},
		{"in a comment", html, `<!-- <title>no</title> --><title>t</title>`, "t", "", "", ""},
		{"in a style", html, `<style><title>no</title></style><title>t</title>`, "t", "", "", ""},
		{"markup in a title", html, `<title><img src=x onerror=alert(1)></title>`,
			"<img src=x onerror=alert(1)>", "", "", ""},
		{"windows-1251 by header", "text/html; charset=windows-1251", "<title>\xd7\xe0\xe9</title>",
			"Чай", "", "", ""},
		{"shift_jis by meta", html,
			"<meta charset=shift_jis><title>\x82\xa8\x92\x83</title>", "お茶", "", "", ""},
		{"utf-16 by mark", html, string(utf16Of("<title>お茶</title>")), "お茶", "", "", ""},
		{"utf-8 late", html, "<!--" + strings.Repeat("x", 2000) + "--><title>お茶</title>", "お茶",
			"", "", ""},
		{"utf-8 at once", html, "<title>お茶</title>", "お茶", "", "", ""},
		{"windows-1252", html, "<title>Gr\xfcn</title>", "Grün", "", "", ""},
		{"an unknown encoding", "text/html; charset=klingon", "<title>t</title>", "t", "", "", ""},
		{"not UTF-8", utf8Type, "<title>a\xffb</title>", "a\uFFFDb", "", "", ""},
		{"a long tag", html, "<title>t</title><meta x=" + strings.Repeat("x", 2*maxToken) +
			"><meta name=description content=d>", "t", "", "", ""},
	} {
		p := readPage(strings.NewReader(c.page), c.kind)
		base, err := url.Parse("http://x.example/a/b?c")
		if err != nil {
			t.Fatal(err)
		}
		if p.title() != c.title || p.text() != c.text || p.site() != c.site ||
			p.image(base) != c.image {
			t.Errorf("%s: %q, %q, %q, %q; want %q, %q, %q, %q", c.name, p.title(), p.text(),
				p.site(), p.image(base), c.title, c.text, c.site, c.image)
		}
	}
}

func utf16Of(text string) (out []byte) {
	for _, u := range utf16.Encode([]rune("\uFEFF" + text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"  a \r\n\t b\u00a0c ":                   "a b c",
		"a\x00b\x1b[31mc\x7f\u0085":              "ab[31mc",
		"\u202egnp.exe\u202c":                    "gnp.exe",
		"\u2066a\u2069\u200e\u200f":              "a",
		"a\u200bb\ufeffc\u00add":                 "abcd",
		"a\u2028b\u2029c":                        "a b c",
		"\ue000\U000F0000x":                      "x",
		"e\u0301":                                "e\u0301",
		"z" + strings.Repeat("\u0335", 50) + "o": "z" + strings.Repeat("\u0335", maxMarks) + "o",
		"a\xffb":                                 "a\uFFFDb",
		"👍 お茶":                                   "👍 お茶",
		strings.Repeat("x", 20):                  strings.Repeat("x", 20),
		strings.Repeat("お", 21):                  strings.Repeat("お", 19) + "…",
		strings.Repeat("x", 18) + " yz":          strings.Repeat("x", 18) + "…",
	} {
		if got := clean(text, 20); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzReadPage: whatever a page is, what is shown of it is short, on one line, and seen.
func FuzzReadPage(f *testing.F) {
	f.Add("<title>t</title><meta property=og:title content=o>", "text/html; charset=utf-8")
	f.Add("<head><meta name=description content='a &amp; b'><meta charset=gbk>\xff</head>", "")
	f.Add("\xff\xfe<\x00t\x00i\x00t\x00l\x00e\x00>\x00", "text/html")
	f.Add("<!--<title>x--><title>\u202e&#8238;&#0;</title>", "text/html;charset=\"x")
	f.Add("<meta property=og:image content='//a:b@c/%zz'>", "x; charset=iso-2022-jp")
	base, err := url.Parse("https://x.example/a")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, kind string) {
		p := readPage(strings.NewReader(text), kind)
		for name, value := range p {
			if len(value) > maxValue || name != titleName && !slices.Contains(names, name) {
				t.Errorf("%q: %d bytes", name, len(value))
			}
		}
		for most, shown := range map[int]string{maxSite: p.site(), maxTitle: p.title(),
			maxText: p.text()} {
			if !utf8.ValidString(shown) || utf8.RuneCountInString(shown) > most ||
				strings.TrimSpace(shown) != shown || clean(shown, most) != shown {
				t.Errorf("shown: %q", shown)
			}
			for _, r := range shown {
				if !unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Cc) {
					t.Errorf("shown: %q has %U", shown, r)
				}
			}
		}
		if link := p.image(base); link != "" {
			if _, err := url.Parse(link); err != nil {
				t.Errorf("the image: %v", err)
			}
		}
	})
}

func TestLinksIn(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    nil,
		"http:// https:///":                   {"https:///"},
		"see http://a.example/x.":             {"http://a.example/x"},
		"(https://a.example/x_(y))":           {"https://a.example/x_(y)"},
		"HTTPS://A.example, and":              {"HTTPS://A.example"},
		"xhttp://a ftp://b":                   nil,
		"<http://a/> http://b/":               {"http://b/"},
		"<http://a/ http://b/>":               {"http://a/", "http://b/"},
		"http://a/\x02bold":                   {"http://a/"},
		"http://a http://a http://b":          {"http://a", "http://b"},
		"http://a http://b http://c http://d": {"http://a", "http://b", "http://c"},
		"a\nhttp://a\nhttp://b":               {"http://a", "http://b"},
	} {
		if got := linksIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzJudge: a link that is followed is of http or https, has no password, and names an allowed
// port.
func FuzzJudge(f *testing.F) {
	s := New(Options{Ports: []uint16{80, 443}, Base: "https://chat.example", Now: nil,
		Logger: discard()})
	for _, text := range []string{"http://a.example/x?y#z", "https://a:443", "http://a:b@c/",
		"http://a:22", "https://chat.example/x", "http:a", "http://[::1%25lo]/", "//a", "http://a:",
		"http://\u00fc.example/", "http://a\\@b/", "http://1.1.1.1 &@2.2.2.2# @3.3.3.3/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, link := range append(linksIn(text), text) {
			u, err := s.judge(link)
			if err != nil {
				continue
			}
			again, err := url.Parse(u.String())
			if err != nil || again.User != nil || again.Fragment != "" || again.Hostname() == "" ||
				again.Scheme != "http" && again.Scheme != "https" ||
				!slices.Contains([]string{"", "80", "443"}, again.Port()) {
				t.Errorf("%q is followed as %q", link, u)
			}
		}
	})
}
