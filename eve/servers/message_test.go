package servers_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"interleave/eve/interp"
	"interleave/eve/ir"
)

// A program that parses its argument as the input of a connection, and prints each request and how
// the input ends. Its second argument, if there is one, is the input that comes later.
const parses = `import io.message
main: [+stdout] () void:
    args: vector<string> = process.args()
    p: message.parser = message.requests(message.limits(head = 400, fields = 6, body = 64))
    i: int = 0
    going: bool = true
    while going:
        match p.next():
            more:
                going = i < args.size()
                if going: p.push(args[i])
                i += 1
            proceed: print("proceed\n")
            asked(r):
                print("%s %s %s %s\n", r.method, r.target, r.host, r.body.hex())
                if r.path != "*": print("    %v %s %v\n", r.parts, r.query, r.keeps())
            answered(r): print("a reply\n")
            refused(status, why):
                print("refused %d %s\n", status, why)
                going = false
    if p.begun(): print("cut off\n")
`

// read is what Eve's parser makes of the parts of an input.
func read(t testing.TB, p *ir.Program, parts ...string) string {
	t.Helper()
	var out strings.Builder
	end := interp.Run(p, interp.Options{Args: parts, Stdout: &out})
	if end.Status != 0 {
		t.Fatalf("%q: the parser ended with status %d: %s", parts, end.Status, end.Trace)
	}
	return out.String()
}

// Inputs and what becomes of them: accepted forms, and every form of refusal.
func TestMessages(t *testing.T) {
	p := interpreted(t, "parses.eve", parses)
	const h = "Host: h\r\n"
	long := strings.Repeat("x", 450)
	for _, c := range []struct{ name, input, want string }{
		{"plain", "GET / HTTP/1.1\r\n" + h + "\r\n", "GET / h \n    []  true"},
		{"empty line before", "\r\nGET / HTTP/1.1\r\n" + h + "\r\n", "GET / h \n"},
		{"two empty lines", "\r\n\r\nGET / HTTP/1.1\r\n", "refused 400 the first line is no"},
		{"body", "POST /a HTTP/1.1\r\nContent-Length: 3\r\n" + h + "\r\nabcGET / HTTP/1.0\r\n\r\n",
			"POST /a h 616263\n    [a]  true\nGET /  \n"},
		{"chunks", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: Chunked\r\n\r\n" +
			"2\r\nab\r\n0A\r\n0123456789\r\n0\r\nX: y\r\n\r\n", "POST / h 616230313233"},
		{"close", "GET / HTTP/1.1\r\n" + h + "Connection: x, Close\r\n\r\n", "[]  false"},
		{"old", "GET / HTTP/1.0\r\n\r\n", "GET /  \n    []  false"},
		{"old, kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "[]  true"},
		{"absolute", "GET http://a:1/b?c HTTP/1.1\r\n" + h + "\r\n",
			"GET http://a:1/b?c a:1 \n    [b] c true"},
		{"options", "OPTIONS * HTTP/1.1\r\n" + h + "\r\n", "OPTIONS * h \n"},
		{"dots", "GET /a/./b%20c/../%64/.. HTTP/1.0\r\n\r\n", "[a, ]"},
		{"encoded slash", "GET /a%2Fb/c HTTP/1.1\r\n" + h + "\r\n", "[a/b, c]  true"},
		{"encoded slashes", "GET /a/..%2f..%2Fb HTTP/1.1\r\n" + h + "\r\n", "[a, ../../b]  true"},
		{"encoded backslash", "GET /..%5cb HTTP/1.1\r\n" + h + "\r\n", "[..\\b]  true"},
		{"encoded zero", "GET /a%00 HTTP/1.1\r\n" + h + "\r\n", "[a\x00]  true"},
		{"expectation", "POST / HTTP/1.1\r\n" + h +
			"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n", "proceed\ncut off"},
		{"half", "GET / HTTP/1.1\r\nHos", "cut off"},

		{"bare LF", "GET / HTTP/1.1\nHost: h\n\n", "refused 400 a line ends without"},
		{"bare LF in the head", "GET / HTTP/1.1\r\n" + h + "A: b\n\r\n", "refused 400 a line ends"},
		{"bare CR", "GET / HTTP/1.1\r\n" + h + "A: b\rc\r\n\r\n", "refused 400 a byte of no field"},
		{"CR CR LF", "GET / HTTP/1.1\r\n" + h + "A: b\r\r\n\r\n", "refused 400 a byte of no field"},
		{"zero byte", "GET / HTTP/1.1\r\n" + h + "A: b\x00\r\n\r\n", "refused 400 a byte of no"},
		{"folded", "GET / HTTP/1.1\r\n" + h + " folded\r\n\r\n", "refused 400 a folded line"},
		{"blank before colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", "refused 400 a line is no"},
		{"no name", "GET / HTTP/1.1\r\n: h\r\n\r\n", "refused 400 a line is no field"},
		{"no colon", "GET / HTTP/1.1\r\nhost\r\n\r\n", "refused 400 a line is no field"},
		{"length and coding", "POST / HTTP/1.1\r\n" + h + "Content-Length: 1\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "refused 400 a length and a transfer"},
		{"two lengths", "POST / HTTP/1.1\r\n" + h + "Content-Length: 1\r\nContent-Length: 1\r\n" +
			"\r\na", "refused 400 two lengths"},
		{"list of lengths", "POST / HTTP/1.1\r\n" + h + "Content-Length: 1, 1\r\n\r\na",
			"refused 400 a length is no number"},
		{"signed length", "POST / HTTP/1.1\r\n" + h + "Content-Length: +1\r\n\r\na",
			"refused 400 a length is no number"},
		{"empty length", "POST / HTTP/1.1\r\n" + h + "Content-Length:\r\n\r\n",
			"refused 400 a length is no number"},
		{"unknown coding", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: gzip, chunked\r\n\r\n",
			"refused 501 an unknown transfer coding"},
		{"coding without an end", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: xchunked\r\n\r\n",
			"refused 400 the last transfer coding"},
		{"chunked twice, not last", "POST / HTTP/1.1\r\n" + h +
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
			"refused 400 the last transfer coding"},
		{"coding of 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"refused 400 HTTP/1.0 has no transfer codings"},
		{"chunk extension", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"1;a\r\nx\r\n0\r\n\r\n", "refused 400 the size of a chunk"},
		{"blank behind size", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"1 \r\nx\r\n0\r\n\r\n", "refused 400 the size of a chunk"},
		{"size 0x1", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"0x1\r\nx\r\n0\r\n\r\n", "refused 400 the size of a chunk"},
		{"huge size", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"ffffffffffffffff1\r\nx", "refused 400 a line is too long"},
		{"large size", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"fffffffffffffff\r\nx", "refused 413 the body is too large"},
		{"chunk without end", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"1\r\nxy\r\n0\r\n\r\n", "refused 400 a line"},
		{"chunk with LF", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"1\nx\r\n0\r\n\r\n", "refused 400 a line ends without CR LF"},
		{"large body", "POST / HTTP/1.1\r\n" + h + "Content-Length: 65\r\n\r\n", "refused 413 the"},
		{"huge length", "POST / HTTP/1.1\r\n" + h + "Content-Length: 99999999999999999999\r\n\r\n",
			"refused 400 a length is no number"},
		{"long target", "GET /" + strings.Repeat("x", 8001) + " HTTP/1.1\r\n", "refused 414 the"},
		{"endless line", strings.Repeat("x", 9000), "refused 414 a line is too long"},
		{"long field", "GET / HTTP/1.1\r\nA: " + long + "\r\n", "refused 431 a line is too long"},
		{"endless field", "GET / HTTP/1.1\r\nA: " + long, "refused 431 a line is too long"},
		{"many fields", "GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 7), "refused 431 there"},
		{"endless trailer", "POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n0\r\n" +
			strings.Repeat("A: b\r\n", 80), "refused 431"},
		{"no host", "GET / HTTP/1.1\r\n\r\n", "refused 400 a request has one field Host"},
		{"two hosts", "GET / HTTP/1.1\r\n" + h + h + "\r\n", "refused 400 a request has one field"},
		{"strange host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "refused 400 there is no"},
		{"host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "refused 400 there is no such"},
		{"version 2", "GET / HTTP/2.0\r\n" + h + "\r\n", "refused 505"},
		{"version", "GET / HTTP/1.1x\r\n" + h + "\r\n", "refused 400 the version"},
		{"lower version", "GET / http/1.1\r\n" + h + "\r\n", "refused 400 the version"},
		{"two blanks", "GET  / HTTP/1.1\r\n" + h + "\r\n", "refused 400 the first line"},
		{"no target", "GET  HTTP/1.1\r\n" + h + "\r\n", "refused 400 the first line"},
		{"tab", "GET\t/ HTTP/1.1\r\n" + h + "\r\n", "refused 400 the first line"},
		{"method", "G(T / HTTP/1.1\r\n" + h + "\r\n", "refused 400 the first line"},
		{"raw byte", "GET /\xc3\xa4 HTTP/1.1\r\n" + h + "\r\n", "refused 400 the target has"},
		{"fragment", "GET /#a HTTP/1.1\r\n" + h + "\r\n", "refused 400 the target has a byte"},
		{"above the root", "GET /a/../../b HTTP/1.1\r\n" + h + "\r\n", "refused 400 the path"},
		{"encoded", "GET /%2e%2E/b HTTP/1.1\r\n" + h + "\r\n", "refused 400 the path leads"},
		{"bad escape", "GET /a%2 HTTP/1.1\r\n" + h + "\r\n", "refused 400 an escape"},
		{"bad digits", "GET /a%zz HTTP/1.1\r\n" + h + "\r\n", "refused 400 an escape"},
		{"not a path", "GET a HTTP/1.1\r\n" + h + "\r\n", "refused 400 the target is no path"},
		{"user", "GET http://u@h/ HTTP/1.1\r\n" + h + "\r\n", "refused 400 the target has no"},
		{"tunnel", "CONNECT a:1 HTTP/1.1\r\n" + h + "\r\n", "refused 501 this is no proxy"},
		{"star", "GET * HTTP/1.1\r\n" + h + "\r\n", "refused 400 only OPTIONS"},
		{"other expectation", "POST / HTTP/1.1\r\n" + h + "Expect: cake\r\n\r\n", "refused 417"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := read(t, p, c.input)
			if !strings.Contains(whole, c.want) {
				t.Errorf("%q: got %q, want %q", c.input, whole, c.want)
			}
			if len(c.input) > 1000 {
				return // byte by byte it takes long
			}
			bytes := strings.Split(c.input, "") // of ASCII, and else of characters
			if got := read(t, p, bytes...); strings.ReplaceAll(got, "proceed\n", "") !=
				strings.ReplaceAll(whole, "proceed\n", "") {
				t.Errorf("%q: in one part it is %q, byte by byte %q", c.input, whole, got)
			}
		})
	}
}

// stricter are the reasons for which Eve's parser refuses requests that net/http accepts, and the
// defence of each: a section of RFC 9112, unless it says another, that demands or allows it.
var stricter = []string{
	// 2.2: a recipient MAY take a single LF for it, and need not
	"a line ends without CR LF",
	// 5.2: a server MUST reject it or replace it
	"a folded line",
	// 6.1, 11.2: it may be an attempt at request smuggling
	"a length and a transfer coding",
	// 6.3: equal ones may be joined, or the message be rejected
	"two lengths",
	// 6.3: a list of equal ones may be rejected
	"a length is no number",
	// 6.1: the framing is to be taken as faulty
	"HTTP/1.0 has no transfer codings",
	// 7.1.1: extensions are a risk, and no client sends them
	"the size of a chunk is no number",
	// 7.1: 1*HEXDIG
	"a chunk without a size",
	// a limit: RFC 9110 5.4 and 4.1, and 15 digits of a chunk's size
	"a line is too long",
	// a limit
	"the target is too long",
	// a limit
	"there are too many fields",
	// a limit
	"the body is too large",
	// 3.2: MUST respond with 400; net/http does so in its server
	"a request has one field Host",
	// 3.2: an invalid value MUST be answered with 400
	"there is no such host",
	// RFC 9110 10.1.1: 417; net/http does so in its server
	"this expectation is unknown",
	// RFC 9110 15.6.6: 505; net/http does so in its server
	"this is a server of HTTP/1.1",
	// 2.3: the name is case-sensitive, with two digits
	"the version is not HTTP/1.1",
	// RFC 9110 9.3.6: only tunnels need CONNECT
	"this is no proxy",
	// 3.2.4
	"only OPTIONS has the target *",
	// 3.2: the four forms of a target
	"the target is no path",
	// 3.2.2, RFC 9110 4.2.4: user information is rejected
	"the target has no valid host",
	// 3.2: RFC 3986 has no such byte in a target
	"the target has a byte that must be encoded",
	// of our own: a file of that name lies elsewhere
	"the path leads above its root",
	// RFC 3986 2.1
	"an escape is cut off",
	// RFC 3986 2.1
	"an escape without two digits",
	// 5, RFC 9110 5.5: CR, LF and NUL are invalid
	"a byte of no field",
	// 5.1: no white space before the colon
	"a line is no field",
	// 6.1: 501
	"an unknown transfer coding",
	// 6.3: 400
	"the last transfer coding is not chunked",
}

// lenient says why net/http may refuse a request that Eve's parser accepts: an empty line before
// it (RFC 9112 section 2.2: a server SHOULD ignore it), a target that is no URL but a valid path,
// and trailers, which Eve drops unread.
func lenient(input string, err error) bool {
	var bad *url.Error
	return strings.HasPrefix(input, "\r\n") || errors.As(err, &bad) ||
		strings.Contains(strings.ToLower(input), "trailer") ||
		strings.Contains(err.Error(), "malformed MIME header") &&
			strings.Contains(strings.ToLower(input), "chunked")
}

// asNetHTTP are the requests that net/http reads from an input, in the form of Eve's, and the error
// at which it stopped.
func asNetHTTP(input string) (requests []string, err error) {
	in := bufio.NewReader(strings.NewReader(input))
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return requests, err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return requests, err
		}
		requests = append(requests,
			fmt.Sprintf("%s %s %s %x", r.Method, r.RequestURI, r.Host, body))
	}
}

// A parser of heads ends a request with its head, whatever its body is said to be.
func TestHeadsOnly(t *testing.T) {
	text := strings.Replace(parses, "message.requests(", "message.heads_only(", 1)
	p := interpreted(t, "heads.eve", text)
	const h = "Host: h\r\n"
	for _, c := range []struct{ name, input, want string }{
		{"no body", "GET /a HTTP/1.1\r\n" + h + "\r\n", "GET /a h \n"},
		{"large body", "POST /a HTTP/1.1\r\nContent-Length: 100000\r\n" + h + "\r\nabc",
			"POST /a h \n"},
		{"chunks", "POST /a HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
			"POST /a h \n"},
		{"two lengths", "POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + h +
			"\r\n", "POST /a h \n"},
		{"expectation", "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n" + h +
			"\r\n", "POST /a h \n"},
		{"no host", "GET /a HTTP/1.1\r\n\r\n", "refused 400 a request has one field Host"},
		{"half", "GET /a HTTP/1.1\r\n" + h, "cut off"},
	} {
		if got := read(t, p, c.input); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q first", c.name, got, c.want)
		}
	}
}

// asEve are the requests that Eve's parser reads from an input, and the reason for which it
// refused what follows; empty if it waits for more.
func asEve(t testing.TB, p *ir.Program, input string) (requests []string, why string) {
	t.Helper()
	for line := range strings.Lines(read(t, p, input)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "refused "):
			why = line[len("refused 400 "):]
		case strings.HasPrefix(line, "    "), line == "cut off", line == "proceed":
		default:
			requests = append(requests, line)
		}
	}
	return requests, why
}

// Every request that Eve's parser accepts is the one that net/http reads: no two readers of one
// connection disagree on where a request ends. A request that only net/http accepts is refused for
// a reason that stands in the table above.
func FuzzMessages(f *testing.F) {
	p := interpreted(f, "parses.eve", parses)
	const h = "Host: h\r\n"
	for _, s := range []string{
		"GET / HTTP/1.1\r\n" + h + "\r\n",
		"POST /a?b HTTP/1.1\r\n" + h + "Content-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET",
		"POST / HTTP/1.1\r\n" + h + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" +
			"\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\n" + h + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n1;x\ny\r\n0\r\nA: b\r\n\r\n",
		"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n",
		"GET http://a/b HTTP/1.1\r\n" + h + "\r\nOPTIONS * HTTP/1.1\r\n" + h + "\r\n",
		"\r\nGET /%2e%2e/a HTTP/1.1\nHost: h\n X\n\n",
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\r\n0\r\n\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if len(input) > 2000 {
			return // it only takes time
		}
		eves, why := asEve(t, p, input)
		nets, err := asNetHTTP(input)
		for i, r := range eves {
			switch {
			case i >= len(nets):
				if !lenient(input, err) {
					t.Fatalf("%q: Eve reads %q, net/http stops: %v", input, r, err)
				}
				return
			case r != nets[i]:
				t.Fatalf("%q: Eve reads %q, net/http %q", input, r, nets[i])
			}
		}
		if len(nets) > len(eves) && !slices.Contains(stricter, why) {
			t.Fatalf("%q: net/http reads %q, Eve stops: %q", input, nets[len(eves)], why)
		}
	})
}
