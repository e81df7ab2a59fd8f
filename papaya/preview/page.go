package preview

import (
	"bufio"
	"cmp"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// maxToken bounds one tag or text of a page, in bytes. A script is one text, and pages have long
// scripts before their <meta>. maxValue bounds what is kept of a value, in bytes; less than that is
// shown.
const (
	maxToken = maxPage
	maxValue = 4 << 10
)

// What is shown of a page, in characters. All are guesses.
const (
	maxSite  = 60
	maxTitle = 150
	maxText  = 300
)

// A page is what the head of a page says of it, by the names of Open Graph, of Twitter's cards and
// of HTML. The first of several values of one name counts.
type page map[string]string

// titleName is that of the element; its value is no <meta>.
const titleName = "<title>"

// The names of <meta> that are read, for each part of a preview. The first that has a value counts.
var (
	siteNames  = []string{"og:site_name", "application-name"}
	titleNames = []string{"og:title", "twitter:title"}
	textNames  = []string{"og:description", "twitter:description", "description"}
	imageNames = []string{"og:image:secure_url", "og:image:url", "og:image", "twitter:image",
		"twitter:image:src"}
	names = slices.Concat(siteNames, titleNames, textNames, imageNames)
)

// readPage reads the head of a page in HTML. A page that is cut off or wrong gives what was read
// until then.
func readPage(r io.Reader, contentType string) page {
	p := page{}
	z := html.NewTokenizer(decoded(r, contentType))
	z.SetMaxBuf(maxToken)
	inTitle := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return p
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch string(name) {
			case "meta":
				p.meta(z, more)
			case "title":
				_, known := p[titleName]
				inTitle = !known
			case "body":
				return p
			}
		case html.TextToken:
			if inTitle {
				p.set(titleName, string(z.Text()))
			}
		case html.EndTagToken:
			inTitle = false
			if name, _ := z.TagName(); string(name) == "head" {
				return p
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// headSize is in bytes: where an encoding is looked for (WHATWG HTML, 13.2.3.2).
const headSize = 1024

// decoded returns a page in UTF-8, by its byte order mark, the header Content-Type or its <meta>.
// One that says nothing, and has begun with ASCII, is UTF-8.
func decoded(r io.Reader, contentType string) io.Reader {
	b := bufio.NewReader(r)
	head, _ := b.Peek(headSize) // a short page is one, too
	e, _, certain := charset.DetermineEncoding(head, contentType)
	if !certain && !slices.ContainsFunc(head, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return b
	}
	return e.NewDecoder().Reader(b)
}

// meta reads the attributes of <meta property="og:title" content="...">.
func (p page) meta(z *html.Tokenizer, more bool) {
	name, value := "", ""
	for more {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "property", "name":
			if word := strings.ToLower(string(v)); slices.Contains(names, word) {
				name = word
			}
		case "content":
			value = string(v)
		}
	}
	if name != "" {
		p.set(name, value)
	}
}

func (p page) set(name, value string) {
	if _, known := p[name]; !known && strings.TrimSpace(value) != "" {
		p[name] = value[:min(len(value), maxValue)]
	}
}

// first returns the first value that there is of some names, cleaned.
func (p page) first(most int, names ...string) string {
	for _, n := range names {
		if v := clean(p[n], most); v != "" {
			return v
		}
	}
	return ""
}

func (p page) site() string { return p.first(maxSite, siteNames...) }

func (p page) title() string {
	return cmp.Or(p.first(maxTitle, titleNames...), p.first(maxTitle, titleName))
}

func (p page) text() string { return p.first(maxText, textNames...) }

// image returns the link to the page's image, or nothing. base is the URL of the page.
func (p page) image(base *url.URL) string {
	for _, n := range imageNames {
		if link := absolute(base, p[n]); link != "" {
			return link
		}
	}
	return ""
}

// maxMarks bounds the marks above and below one character, which may cover the lines around it.
const maxMarks = 3

// clean makes a text of one line, of at most so many characters, without any that are not seen,
// that turn the text around, or that are no text.
func clean(text string, most int) string {
	marks := 0
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || marks > maxMarks: // controls, formats, private use
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return strings.TrimRight(string(letters[:most-1]), " ") + "…"
}
