package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A program that parses its second argument as the reply to a request of the method in its first,
// behind which the connection ends.
const repliesProgram = `import io.message
main: [+stdout] () void:
    args: vector<string> = process.args()
    p: message.parser = message.answers(message.limits(head = 400, body = 64))
    p.bodiless = args[0] == "HEAD"
    p.push(args[1])
    got: message.parsed = p.next()
    match got:
        more: got = p.end()
        else: pass
    match got:
        answered(r): print("%d %s\n", r.status, r.body.hex())
        refused(_, why): print("refused %s\n", why)
        else: print("nothing\n")
`

// stricterReplies are the reasons for which Eve's parser refuses replies that net/http accepts,
// besides those in the table of requests.
var stricterReplies = []string{
	// RFC 9112 4: a status line has a version, three digits and a space before the reason
	"the first line is no status line",
	// RFC 9112 2.2: a bare CR is invalid
	"a bare CR in the first line",
	// RFC 9110 15: a status is from 100 to 599
	"there is no such status",
	// RFC 9110 7.8: nobody has asked for it
	"the server changes the protocol",
	// RFC 9112 8: net/http says so when the body is read
	"the message is cut off",
}

// replyByNetHTTP is the reply as net/http reads it, in the form of the program.
func replyByNetHTTP(method, input string) (string, error) {
	in := bufio.NewReader(strings.NewReader(input))
	for {
		a, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return "", err
		}
		if a.StatusCode >= 100 && a.StatusCode < 200 && a.StatusCode != 101 {
			continue // net/http's client skips it, too
		}
		body, err := io.ReadAll(a.Body)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %x\n", a.StatusCode, body), nil
	}
}

// bodiless says whether a reply ends with its head, whatever its fields say of a body: RFC 9112
// section 6.3. net/http looks at these fields all the same.
func bodiless(isHead bool, reply string) bool {
	return isHead || strings.HasPrefix(reply, "204 ") || strings.HasPrefix(reply, "304 ")
}

// A reply that Eve's client accepts is the one that net/http reads. One that only net/http accepts
// is refused for a reason that is listed.
func FuzzReplies(f *testing.F) {
	p := interpreted(f, "replies.eve", repliesProgram)
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, s := range []string{
		ok + "Content-Length: 3\r\n\r\nabc",
		ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		ok + "\r\nto the end",
		"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.0 304 X\r\n\r\n",
		"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
		ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 200\r\nA:b\n\n",
		"HTTP/1.1 101 X\r\n\r\n",
		"HTTP/1.1 600 X\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, input string, isHead bool) {
		if len(input) > 1000 {
			return // it only takes time
		}
		method := "GET"
		if isHead {
			method = "HEAD"
		}
		eves := read(t, p, method, input)
		nets, err := replyByNetHTTP(method, input)
		why, refused := strings.CutPrefix(strings.TrimSuffix(eves, "\n"), "refused ")
		switch {
		case eves == nets || eves == "nothing\n" && err != nil:
		case refused && (err != nil || slices.Contains(stricter, why) ||
			slices.Contains(stricterReplies, why)):
		case !refused && err != nil && (lenient(input, err) || bodiless(isHead, eves)):
		default:
			t.Fatalf("%s, %q: Eve reads %q, net/http %q, %v", method, input, eves, nets, err)
		}
	})
}
