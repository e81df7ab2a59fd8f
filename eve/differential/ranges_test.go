package differential

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"interleave/eve/trial"
)

// rangeOf is a program that prints which of ten bytes the field Range of its argument asks for.
const rangeOf = `import io.message
import io.ranges

main: [+stdout] () void:
    r: message.request
    r.method = "GET"
    r.headers.add("range", process.args()[0])
    whole: message.reply = message.reply(200)
    whole.body = "0123456789"
    a: message.reply = ranges.reply(r, whole, "\"v\"")
    print("%d %s %s", a.status, a.headers.get("content-range") else "", a.body.text())
`

// oneRange is a field that Go reads as RFC 9110 says.
var oneRange = regexp.MustCompile(`^bytes=\d{0,18}-\d{0,18}$`)

// FuzzRange reads any field Range. A field of one range is for Eve and Go the same part, or wrong.
func FuzzRange(f *testing.F) {
	for _, field := range []string{"bytes=0-0", "bytes=3-", "bytes=-3", "bytes=-0", "bytes=10-",
		"bytes=5-4", "bytes=1-2,4-5", "bytes=", "bytes=1", "bytes= 1-2 ",
		"bytes=99999999999999999999-",
		"bytes=0-99999999999999999999", "bytes=-99999999999999999999", "BYTES=1-2", "x=1-2", ""} {
		f.Add(field)
	}
	l := library{text: rangeOf, p: trial.Check(f, "parts.eve", rangeOf)}
	f.Fuzz(func(t *testing.T, field string) {
		if strings.Contains(field, "\x00") {
			t.Skip("an argument contains no zero byte")
		}
		got := l.interpret(1, field)
		if got.Status != 0 || got.Err != "" {
			t.Fatalf("%q: %+v", field, got)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Range", field)
		a := httptest.NewRecorder()
		http.ServeContent(a, r, "", time.Time{}, strings.NewReader("0123456789"))
		want := fmt.Sprintf("%d %s %s", a.Code, a.Header().Get("Content-Range"), a.Body)
		part := strings.HasPrefix(got.Out, "206 bytes ")
		if !part && got.Out != "200  0123456789" && got.Out != "416 bytes */10 " {
			t.Errorf("%q: Eve sends %q", field, got.Out)
		}
		sent := a.Code == http.StatusPartialContent && a.Body.Len() > 0 // Go sends none of -0
		if oneRange.MatchString(field) && (part != sent || part && got.Out != want) {
			t.Errorf("%q: Eve sends %q, and Go %q", field, got.Out, want)
		}
	})
}
