package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/interp"
	"interleave/eve/ir"
)

// A program whose arguments are the names and values of a head of HTTP/2. It prints the request.
const readsHead = `import io.heads
import io.message
main: [+stdout] () void:
    args: vector<string> = process.args()
    head: vector<(string, string)>
    for (i in 0..args.size() / 2): head.push((args[2 * i], args[2 * i + 1]))
    match heads.request_of(head, message.limits(target = 100)):
        error(e): print("refused %d %s\n", e.code(), e.text())
        ok(r):
            print("%s %s %s %d.%d\n", r.method, r.target, r.host, r.major, r.minor)
            print("    %v %s\n", r.parts, r.query)
            for (f in r.headers.all): print("    %s: %s\n", f.name, f.value)
`

// headOf is what Eve makes of the fields of a head: names and values.
func headOf(t testing.TB, p *ir.Program, fields []string) string {
	t.Helper()
	var out strings.Builder
	if end := interp.Run(p, interp.Options{Args: fields, Stdout: &out}); end.Status != 0 {
		t.Fatalf("%q: status %d: %s", fields, end.Status, end.Trace)
	}
	return out.String()
}

// Heads of HTTP/2 and the requests that they are, or why they are none.
func TestHeads(t *testing.T) {
	p := interpreted(t, "heads.eve", readsHead)
	for _, c := range []struct {
		name, head, want string // fields are divided by |, names and values by =
	}{
		{"plain", ":method=GET|:scheme=http|:authority=h:1|:path=/a%20b?c=d",
			"GET /a%20b?c=d h:1 2.0\n    [a b] c=d\n    host: h:1\n"},
		{"fields", ":method=GET|:path=/|host=h|x=y|x=z", "host: h\n    x: y\n    x: z\n"},
		{"the host twice", ":method=GET|:authority=h|:path=/|host=h", "    host: h\n"},
		{"cookies", ":method=GET|:authority=h|:path=/|cookie=a=b|x=y|cookie=c=d",
			"    x: y\n    cookie: a=b; c=d\n"},
		{"star", ":method=OPTIONS|:authority=h|:path=*", "OPTIONS * h 2.0\n"},
		{"expectation", ":method=POST|:authority=h|:path=/|expect=100-continue", "POST / h 2.0\n"},

		{"nothing", ":scheme=http", "refused 400 there is no method"},
		{"no path", ":method=GET|:authority=h", "refused 400 the target is no path"},
		{"no slash", ":method=GET|:authority=h|:path=a", "refused 400 the target is no path"},
		{"absolute", ":method=GET|:authority=h|:path=http://h/", "refused 400 the target is no"},
		{"no host", ":method=GET|:path=/", "refused 400 a request has one field Host"},
		{"two hosts", ":method=GET|:authority=h|:path=/|host=g", "refused 400 a request has one"},
		{"strange host", ":method=GET|:authority=a b|:path=/", "refused 400 there is no such host"},
		{"strange method", ":method=G T|:authority=h|:path=/", "refused 400 there is no method"},
		{"tunnel", ":method=CONNECT|:authority=h:1", "refused 501 this is no proxy"},
		{"above the root", ":method=GET|:authority=h|:path=/a/../..", "refused 400 the path leads"},
		{"line end in the path", ":method=GET|:authority=h|:path=/\r\nx: y", "refused 400 the t"},
		{"line end in a field", ":method=GET|:authority=h|:path=/|a=b\nc: d", "refused 400 a f"},
		{"blank in a name", ":method=GET|:authority=h|:path=/|a b=c", "refused 400 a f"},
		{"long", ":method=GET|:authority=h|:path=/" + strings.Repeat("x", 100), "refused 414 the"},
		{"other expectation", ":method=GET|:authority=h|:path=/|expect=cake", "refused 417"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := headOf(t, p, fieldsOf(c.head)); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A program whose arguments are values of fields. It prints them as a reply has them.
const writesHead = `import io.heads
import io.message
main: [+stdout] () void:
    headers: message.fields
    for (value in process.args()): headers.add("X-Value", value)
    headers.add("transfer-encoding", "chunked")
    headers.add("a b", "c")
    common: message.fields
    common.add("server", " eve")
    for (f in heads.head_of(headers, common)):
        if f.0 != "date": print("%s: %s|\n", f.0, f.1)
`

// Fields of a reply as HTTP/2 has them: names in lower case, values in one line and without blanks
// at their ends, which clients refuse.
func TestHeadsOfReplies(t *testing.T) {
	p := interpreted(t, "reply.eve", writesHead)
	got := headOf(t, p, []string{"a b", " \ta", "b\t ", "c\r\nd: e", "f\n", " "})
	want := "server: eve|\nx-value: a b|\nx-value: a|\nx-value: b|\nx-value: c  d: e|\n" +
		"x-value: f|\nx-value: |\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A program that prints the reply whose head its arguments are, and the head of a request with the
// same fields.
const readsReply = `import io.heads
import io.message
main: [+stdout] () void:
    args: vector<string> = process.args()
    head: vector<(string, string)>
    for (i in 0..args.size() / 2): head.push((args[2 * i], args[2 * i + 1]))
    match heads.reply_of(head):
        error(e): print("refused %s\n", e.text())
        ok(r):
            print("%d %d.%d", r.status, r.major, r.minor)
            for (f in r.headers.all): print(" %s=%s", f.name, f.value)
            print("\n")
            for (f in heads.asked("PUT", "https", "h\r\n:1", "/a", r.headers, r.body.size())):
                print("%s=%s|", f.0, f.1)
            print("\n")
`

// Heads of replies, or why they are none, and fields that a client may send.
func TestHeadsOfAnswers(t *testing.T) {
	p := interpreted(t, "replyheads.eve", readsReply)
	const asked = ":method=PUT|:scheme=https|:authority=h  :1|:path=/a|"
	for head, want := range map[string]string{
		":status=200": "200 2.0\n" + asked + "content-length=0|\n",
		":status=404|a=b|a=c|host=g|te=x|connection=a|upgrade=x|content-length=3": "404 2.0 a=b a=c " +
			"host=g te=x connection=a upgrade=x content-length=3\n" + asked +
			"a=b|a=c|content-length=0|\n",
		":status=200|a= b ":     "200 2.0 a= b \n" + asked + "a=b|content-length=0|\n",
		":status=200|a=b\nc: d": "refused a field is none\n",
		":status=200|a b=c":     "refused a field is none\n",
		":status=200|:path=/":   "refused a field is none\n",
		":status=abc":           "refused there is no such status\n",
		":status=199":           "refused there is no such status\n",
		":status=600":           "refused there is no such status\n",
		"a=b":                   "refused there is no such status\n",
	} {
		if got := headOf(t, p, fieldsOf(head)); got != want {
			t.Errorf("%q: got %q, want %q", head, got, want)
		}
	}
}

// fieldsOf takes name=value|name=value apart.
func fieldsOf(text string) []string {
	var all []string
	for _, f := range strings.Split(text, "|") {
		name, value, _ := strings.Cut(f, "=")
		all = append(all, name, value)
	}
	return all
}

// A head of HTTP/2 is read as a request only if the same is one in HTTP/1.1, with the same method,
// target and host: nobody can hide a second request in it.
func FuzzHeads(f *testing.F) {
	p := interpreted(f, "heads.eve", readsHead)
	old := interpreted(f, "parses.eve", parses)
	for _, s := range []string{
		":method=GET|:authority=h|:path=/a?b|x=y",
		":method=POST|:authority=h|:path=/|content-length=3|cookie=a=b|cookie=c",
		":method=OPTIONS|:authority=|:path=*",
		":method=GET|:authority=h|:path=/ HTTP/1.1\r\nHost: g\r\n\r\nGET /",
		":method=GET|:authority=h|:path=/|a=b\r\n\r\nGET / HTTP/1.1",
		":method=GET|:authority=h|:path=/%2e%2e|transfer-encoding=chunked",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if len(input) > 300 {
			return // it only takes time
		}
		fields := fieldsOf(input)
		got := headOf(t, p, fields)
		if strings.HasPrefix(got, "refused ") {
			return
		}
		var method, target, host string
		for i := 0; i+1 < len(fields); i += 2 {
			switch fields[i] {
			case ":method":
				method = fields[i+1]
			case ":path":
				target = fields[i+1]
			case ":authority", "host":
				host = fields[i+1]
			}
		}
		text := read(t, old,
			fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n\r\n", method, target, host))
		want := fmt.Sprintf("%s %s %s ", method, target, host)
		if !strings.HasPrefix(got, want) || !strings.HasPrefix(text, want) {
			t.Fatalf("%q: Eve reads %q, in HTTP/1.1 %q", input, got, text)
		}
	})
}
