package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAnswerHeads(t *testing.T) {
	tests := []struct {
		name, head string
		want       answer
		n          int // -1: all of it
		fault      string
	}{
		{"created",
			"HTTP/1.1 201 Created\r\nLocation: /images/7\r\ncontent-length: 12\r\n" +
				"Server-Timing: db;dur=0.25, next;dur=1.5\r\n\r\n{}",
			answer{status: 201, length: 12, location: []byte("/images/7"), database: 250_000,
				next: 1_500_000}, 99 - 2, ""},
		{"no reason", "HTTP/1.1 204\r\n\r\n", answer{status: 204, length: -1, database: -1,
			next: -1}, -1, ""},
		{"chunked",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3\r\nConnection: " +
				"CLOSE\r\n\r\n",
			answer{status: 200, length: -1, chunked: true, closes: true, database: -1, next: -1},
			-1, ""},
		{"tag", "HTTP/1.1 304 Not Modified\r\nETag:\"a b\"\r\n\r\n", answer{status: 304, length: -1,
			etag: []byte(`"a b"`), database: -1, next: -1}, -1, ""},
		{"not whole", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", answer{}, 0, ""},
		{"three bytes", "HTT", answer{}, 0, ""},
		{"nothing", "", answer{}, 0, ""},
		{"another protocol", "SSH-2.0", answer{}, 0, "the answer is not HTTP/1.1"},
		{"an older one", "HTTP/1.0 200 OK\r\n\r\n", answer{}, 0, "the answer is not HTTP/1.1"},
		{"no status", "HTTP/1.1 2000 OK\r\n\r\n", answer{}, 0, "the answer has no status"},
		{"short status", "HTTP/1.1 20\r\n\r\n", answer{}, 0, "the answer has no status"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
			answer{}, 0, "the answer's Content-Length is no number, or there are two"},
		{"a negative one", "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n", answer{}, 0,
			"the answer's Content-Length is no number, or there are two"},
		{"gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", answer{}, 0,
			"the answer's Transfer-Encoding is not chunked"},
		{"no header", "HTTP/1.1 200 OK\r\nhello\r\n\r\n", answer{}, 0,
			"a line of the head is no header"},
		{"a line within a line", "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 3\r\n\r\n", answer{}, 0,
			"a line of the head is no header"},
		{"a line within the first", "HTTP/1.1 200 OK\nContent-Length: 3\r\n\r\n", answer{}, 0,
			"the answer is not HTTP/1.1"},
		{"too long", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeadBytes), answer{}, 0,
			"the head of the answer is longer than 8 KiB"},
	}
	for _, test := range tests {
		var a answer
		n, fault := a.parse([]byte(test.head))
		if test.n < 0 {
			test.n = len(test.head)
		}
		if test.name == "created" {
			test.n = strings.Index(test.head, "{}")
		}
		if n != test.n || fault != test.fault {
			t.Errorf("%s: got %d %q, want %d %q", test.name, n, fault, test.n, test.fault)
		}
		if n > 0 && fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, a, test.want)
		}
	}
}

func TestServerTiming(t *testing.T) {
	for _, test := range []struct {
		value string
		want  int64
	}{
		{"db;dur=12.5", 12_500_000}, {"db;dur=0.0000019", 1}, {"db; dur = 3", 3_000_000},
		{`db;desc="a;b, db;dur=9";dur=2`, 2_000_000},
		{"total;dur=7, db;dur=1.25", 1_250_000}, {`db;dur="4"`, 4_000_000}, {"cache;dur=1", -1},
		{"db", -1}, {"db;dur=", -1},
		{"db;dur=-1", -1}, {"db;dur=1e3", -1}, {"db;dur=99999999999999999999", -1}, {"", -1},
		{"dbx;dur=1", -1}, {`db;desc="never ends;dur=1`, -1},
	} {
		if got := serverTiming([]byte(test.value), "db"); got != test.want {
			t.Errorf("%q: got %d ns, want %d", test.value, got, test.want)
		}
	}
}

// dechunk reads a body that arrives in pieces of a size.
func dechunk(body []byte, piece int) (data []byte, rest int, over, ok bool) {
	var k chunks
	for at := 0; at < len(body); {
		p := body[at:min(len(body), at+piece)]
		d, used, over, ok := k.next(p)
		data, at = append(data, d...), at+used
		if over || !ok {
			return data, len(body) - at, over, ok
		}
	}
	return data, 0, false, true
}

func TestChunks(t *testing.T) {
	for _, test := range []struct {
		body, want string
		rest       int
		over, ok   bool
	}{
		{"5\r\nhello\r\n0\r\n\r\nHTTP", "hello", 4, true, true},
		{"3;name=x\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", "abc0123456789", 0, true, true},
		{"5\r\nhel", "hel", 0, false, true},
		{"\r\n", "", 0, false, false},
		{"g\r\n", "", 0, false, false},
		{"2\r\nabc\r\n", "ab", 0, false, false},
		{"0\r\n\r\r\n", "", 0, false, false},
		{strings.Repeat("f", 17) + "\r\n", "", 0, false, false},
	} {
		for _, piece := range []int{1, 2, 7, 100} {
			data, rest, over, ok := dechunk([]byte(test.body), piece)
			if string(data) != test.want || over != test.over || ok != test.ok ||
				ok && rest != test.rest {
				t.Errorf("%q in pieces of %d: got %q, %d left, over %v, ok %v", test.body, piece,
					data, rest, over, ok)
			}
		}
	}
}

// TestHeadsAllocateNothing: they are read while the engine measures.
func TestHeadsAllocateNothing(t *testing.T) {
	head := []byte("HTTP/1.1 201 Created\r\nLocation: /images/7\r\nContent-Length: 12\r\n" +
		"Server-Timing: total;dur=1, db;dur=0.25\r\n\r\n")
	body := []byte("5\r\nhello\r\n0\r\n\r\n")
	if n := testing.AllocsPerRun(100, func() {
		var a answer
		a.parse(head)
		var k chunks
		for p := body; len(p) > 0; {
			_, used, _, _ := k.next(p)
			p = p[used:]
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// FuzzAnswer holds the parser to net/http's where both accept a head, and to what parts of it give.
func FuzzAnswer(f *testing.F) {
	for _, head := range []string{
		"HTTP/1.1 201 Created\r\nLocation: /images/7\r\nContent-Length: 12\r\nServer-Timing: " +
			"db;dur=0.25, next;dur=1.5\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"HTTP/1.1 304 x\r\nETag: \"q\"\r\nConnection: close\r\n\r\n", "HTTP/1.1 2",
		"HTTP/1.1 200 \nContent-Length:0\r\n\r\n",
	} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		var a answer
		n, fault := a.parse(p)
		if n > len(p) || n > 0 && fault != "" {
			t.Fatalf("took %d of %d bytes, %q", n, len(p), fault)
		}
		if n == 0 {
			return
		}
		var part answer
		if m, _ := part.parse(p[:n-1]); m != 0 {
			t.Errorf("%q is a head without its last byte", p[:n-1])
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(p)),
			&http.Request{Method: http.MethodGet})
		if err != nil {
			return // it is stricter about names and values
		}
		theirs.Body.Close()
		if theirs.StatusCode != a.status {
			t.Errorf("status %d, net/http has %d", a.status, theirs.StatusCode)
		}
		if !a.empty() && !a.chunked && theirs.ContentLength != a.length {
			t.Errorf("length %d, net/http has %d", a.length, theirs.ContentLength)
		}
	})
}

// FuzzServerTiming: any value is read without harm, and a duration that is written is read back.
func FuzzServerTiming(f *testing.F) {
	f.Add("db;dur=1.5", uint32(1500))
	f.Add(`total;desc="a, b";dur=2, db;dur=0.1`, uint32(0))
	f.Fuzz(func(t *testing.T, value string, micros uint32) {
		if ns := serverTiming([]byte(value), "db"); ns < -1 {
			t.Errorf("%q: got %d", value, ns)
		}
		text := fmt.Sprintf("cache;desc=\"hit\", db;dur=%d.%03d", micros/1000, micros%1000)
		if ns := serverTiming([]byte(text), "db"); micros < 86_400_000_000/1000 &&
			ns != int64(micros)*1000 {
			t.Errorf("%q: got %d ns", text, ns)
		}
	})
}

// FuzzChunks: what net/http writes as chunks comes out again however it is cut.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("hello"), []byte("5\r\nhello\r\n0\r\n\r\n"), 3)
	f.Fuzz(func(t *testing.T, data, raw []byte, piece int) {
		piece = 1 + (piece&0x7fffffff)%64
		dechunk(raw, piece) // comes to an end
		var b bytes.Buffer
		for p := data; len(p) > 0; {
			n := min(len(p), piece)
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, p[:n])
			p = p[n:]
		}
		io.WriteString(&b, "0\r\n\r\n")
		got, rest, over, ok := dechunk(b.Bytes(), piece)
		if !bytes.Equal(got, data) || rest != 0 || !over || !ok {
			t.Errorf("got %q, %d left, over %v, ok %v; want %q", got, rest, over, ok, data)
		}
	})
}
