package differential

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"interleave/eve/trial"
)

// readCookies prints the cookies of a field, seals and opens a value, and reads a date.
const readCookies = `import io.cookies
import io.message
import io.ranges

main: [+stdout] () void:
    r: message.request
    r.headers.add("cookie", process.args()[0])
    for (c in cookies.parse(r)): print("%s\x01%s\x02", c.0, c.1)
    print("\n")
    match ranges.date_of(process.args()[0]):
        some(at): print("%d\n", at.unix())
        none: print("none\n")
    k: string = "0123456789abcdef0123456789abcdef"
    o: string = "another key of thirty-two bytes!"
    value: string = process.args()[0]
    sealed: string = cookies.seal([k.bytes()], "user", value, 1h)
    same: bool = (cookies.unseal([o.bytes(), k.bytes()], "user", sealed) else "\0") == value
    name: bool = cookies.unseal([k.bytes()], "other", sealed) == none
    other: bool = cookies.unseal([o.bytes()], "user", sealed) == none
    made_up: bool = cookies.unseal([k.bytes(), o.bytes()], "user", value) == none
    print("%v %v %v %v\n", same, name, other, made_up)
`

// FuzzCookies reads any field Cookie as Go does, any text as a date, and seals any value.
func FuzzCookies(f *testing.F) {
	for _, field := range []string{"a=b", "a=b; c=d", "a=\"b\"", "a=b=c", "=b", "a=", "a b=c",
		"a=\"", "a=b,c d", "a=\\", "a= b ;c=d", "a=é", ";;", "a=b;a=c",
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 CET",
		"dXNlcg.0.AAAA", "YQ.0."} {
		f.Add(field)
	}
	l := library{text: readCookies, p: trial.Check(f, "cookies.eve", readCookies)}
	f.Fuzz(func(t *testing.T, field string) {
		if strings.ContainsFunc(field, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Skip("no field of HTTP has that")
		}
		got := l.interpret(1, field)
		lines := strings.Split(got.Out, "\n")
		if got.Status != 0 || got.Err != "" || len(lines) != 4 ||
			lines[2] != "true true true true" {
			t.Fatalf("%q: %+v", field, got)
		}
		var want strings.Builder
		for part := range strings.SplitSeq(field, ";") { // Go takes a name without = as a cookie
			if !strings.Contains(part, "=") {
				continue
			}
			r := http.Request{Header: http.Header{"Cookie": {part}}}
			for _, c := range r.Cookies() {
				fmt.Fprintf(&want, "%s\x01%s\x02", c.Name, c.Value)
			}
		}
		if trimmed(lines[0]) != trimmed(want.String()) {
			t.Errorf("%q: Eve reads %q, and Go %q", field, lines[0], want.String())
		}
		at, err := http.ParseTime(field)
		if err == nil && at.Year() > 1700 && at.Year() < 2200 && len(field) == len(time.ANSIC)+5 &&
			lines[1] != fmt.Sprint(at.Unix()) {
			t.Errorf("%q: Eve reads %s, and Go %d", field, lines[1], at.Unix())
		}
	})
}

// trimmed has no blanks around values, which Go keeps behind an equals sign.
func trimmed(cookies string) string {
	var all []string
	for pair := range strings.SplitSeq(cookies, "\x02") {
		name, value, _ := strings.Cut(pair, "\x01")
		all = append(all, name+"\x01"+strings.TrimSpace(value))
	}
	return strings.Join(all, "\x02")
}

// setCookies prints the field Set-Cookie of several cookies, or why there is none.
const setCookies = `import io.cookies
import io.message

show: [+stdout] (c: cookies.cookie) void:
    r: message.reply = message.reply(200)
    match cookies.set(r, c):
        ok: print("%s\n", r.headers.get("set-cookie") else "")
        error(e): print("error: %s\n", e)

main: [+stdout] () void:
    show(cookies.cookie("a", "b"))
    show(cookies.cookie("a", "b", 90m, "/x", "example.org", false, false,
        cookies.same_site.strict))
    show(cookies.cookie("a", "", 0s, same_site = cookies.same_site.all))
    show(cookies.cookie("__Host-a", "b"))
    show(cookies.cookie("__Host-a", "b", path = "/x"))
    show(cookies.cookie("__Secure-a", "b", secure = false))
    show(cookies.cookie("a", "b", secure = false, same_site = cookies.same_site.all))
    show(cookies.cookie("a b", "c"))
    show(cookies.cookie("a", "b; Domain=evil"))
    show(cookies.cookie("a", "b\r\nx: y"))
    show(cookies.cookie("a", "b", path = "/; Secure"))
    show(cookies.cookie("a", "b", domain = "x\n"))
    r: message.reply = message.reply(200)
    match cookies.forget(r, "a"):
        ok: print("%s\n", r.headers.get("set-cookie") else "")
        error(e): print("%s\n", e)
    sealed: string = cookies.seal(["k"], "a", "b", 1ns)
    print("%v %v\n", cookies.unseal(["k"], "a", sealed) == none,
        cookies.unseal(["k"], "a", cookies.seal(["k"], "a", "b")) == none)
`

// A cookie is written as browsers take it, or not at all.
func TestSetCookie(t *testing.T) {
	l := library{text: setCookies, p: trial.Check(t, "set.eve", setCookies)}
	const want = `a=b; Path=/; Secure; HttpOnly; SameSite=Lax
a=b; Path=/x; Domain=example.org; Max-Age=5400; SameSite=Strict
a=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=None
__Host-a=b; Path=/; Secure; HttpOnly; SameSite=Lax
error: the cookie __Host-a is for this host and all paths
error: the cookie __Secure-a must be secure
error: the cookie a is for all sites, and so must be secure
error: "a b" is no name of a cookie
error: the cookie a has a value that none has
error: the cookie a has a value that none has
error: the cookie a has a path that is none
error: the cookie a is for no domain
a=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax
true false
`
	if got := l.interpret(1); got != (trial.Ending{Out: want}) {
		t.Errorf("%s\n%s", trial.Difference(l.text, want, got.Out), got.Err)
	}
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "error") || strings.HasPrefix(line, "true") {
			continue
		}
		if c, err := http.ParseSetCookie(strings.TrimSpace(line)); err != nil || c.Valid() != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
