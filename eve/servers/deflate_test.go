package servers_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	chromium "interleave/internal/browser"
)

// packedTail stands behind a packed message and is not sent: RFC 7692 section 7.2.1.
const packedTail = "\x00\x00\xff\xff"

// A goPacker packs messages by Go's library, with the window of those before.
type goPacker struct {
	w   *flate.Writer
	out bytes.Buffer
}

func newGoPacker(t testing.TB) *goPacker {
	t.Helper()
	p := &goPacker{}
	w, err := flate.NewWriter(&p.out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	p.w = w
	return p
}

func (p *goPacker) pack(text string) string {
	p.out.Reset()
	io.WriteString(p.w, text)
	p.w.Flush()
	return strings.TrimSuffix(p.out.String(), packedTail)
}

// unpackedByFlate unpacks messages, each of which may refer to those before.
func unpackedByFlate(messages ...string) (string, error) {
	const end = "\x01\x00\x00\xff\xff"
	var all strings.Builder
	in := strings.NewReader(strings.Join(messages, packedTail) + packedTail + end)
	for in.Len() > 0 { // a block may be the last one of its stream, and others follow
		if _, err := io.Copy(&all, flate.NewReader(in)); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

func serveDeflate(t *testing.T) (*process, int) {
	t.Helper()
	p := startWith(t, []string{example(t, "deflate"), "serve"}, "EVE_WORKERS=2")
	return p, p.port()
}

// dialPacking connects by a well-tried client that packs.
func dialPacking(t *testing.T, port int, path string,
	mode websocket.CompressionMode) *websocket.Conn {
	t.Helper()
	return dialWith(t, port, path,
		&websocket.DialOptions{CompressionMode: mode, CompressionThreshold: 1})
}

// Messages of all sizes come back from a server that packs them, to a well-tried client in each of
// its modes; many of them at once, too.
func TestDeflateServer(t *testing.T) {
	t.Parallel()
	p, port := serveDeflate(t)
	random := make([]byte, 60_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for _, path := range []string{"/echo/forgets/15", "/echo/keeps/15", "/echo/keeps/9", "/plain"} {
		for _, mode := range []websocket.CompressionMode{websocket.CompressionDisabled,
			websocket.CompressionNoContextTakeover, websocket.CompressionContextTakeover} {
			c := dialPacking(t, port, path, mode)
			for _, text := range []string{"", "short", strings.Repeat("a line of text\n", 4000),
				strings.Repeat("\u00e4\u4e16", 2000), "a line of text", string(random[:16]),
				string(random), "a line of text a line of text"} {
				sendMessage(t, c, websocket.MessageBinary, text)
				mustReceive(t, c, websocket.MessageBinary, text)
			}
			const many = 50
			sent := make(chan error, 1)
			go func() {
				for i := range many {
					if err := c.Write(t.Context(), websocket.MessageText,
						fmt.Appendf(nil, "message %d of %d messages", i, many)); err != nil {
						sent <- err
						return
					}
				}
				sent <- nil
			}()
			for i := range many {
				mustReceive(t, c, websocket.MessageText,
					fmt.Sprintf("message %d of %d messages", i, many))
			}
			if err := <-sent; err != nil {
				t.Errorf("%s, mode %d: %v", path, mode, err)
			}
			_ = c.Close(websocket.StatusNormalClosure, "bye") // what the server saw is checked
		}
	}
	p.eventually("all have closed", func() bool {
		return strings.Count(p.out.String(), "closed 1000 bye\n") == 12
	})
}

// The same between Eve's client and a well-tried server, and with one that packs in no way.
func TestDeflateClient(t *testing.T) {
	t.Parallel()
	exe := example(t, "deflate")
	mode := map[string]websocket.CompressionMode{"/keeps": websocket.CompressionContextTakeover,
		"/forgets": websocket.CompressionNoContextTakeover, "/no": websocket.CompressionDisabled}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
			CompressionMode: mode[r.URL.Path], CompressionThreshold: 1})
		if err != nil {
			t.Error(err)
			return
		}
		c.SetReadLimit(-1)
		for {
			kind, text, err := c.Read(ctx)
			if err != nil || c.Write(ctx, kind, text) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	base := strings.Replace(s.URL, "http:", "ws:", 1)
	for _, c := range []struct{ path, keeps, window, packs string }{
		{"/keeps", "keeps", "15", "true"}, {"/keeps", "forgets", "15", "true"},
		{"/forgets", "keeps", "15", "true"}, {"/forgets", "forgets", "15", "true"},
		{"/no", "keeps", "15", "false"},
		{"/keeps", "keeps", "10", "true"}, // that server has one window only, and keeps none then
	} {
		p := startWith(t, []string{exe, "visit", base + c.path, c.keeps, c.window, "short",
			"hello *1000", "hello *900", "hello hello"}, "EVE_WORKERS=2")
		p.mustExit(0)
		want := fmt.Sprintf("packs %s\n5 short\n6000 hello hell\n5400 hello hell\n11 hello hell\n"+
			"closed 1000 bye\n", c.packs)
		if got := p.out.String(); got != want {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
	// Eve's own server knows all windows.
	_, port := serveDeflate(t)
	for _, how := range []string{"keeps/15", "keeps/12", "keeps/9", "forgets/9"} {
		keeps, window, _ := strings.Cut(how, "/")
		p := startWith(t, []string{exe, "visit", fmt.Sprintf("ws://127.0.0.1:%d/echo/%s", port,
			how), keeps, window, "hello *1000", "hello *999"}, "EVE_WORKERS=2")
		p.mustExit(0)
		if got, want := p.out.String(), "packs true\n6000 hello hell\n5994 hello hell\n"+
			"closed 1000 \n"; got != want {
			t.Errorf("%s: got %q, want %q", how, got, want)
		}
	}
}

// openPacking makes a handshake by hand, with this offer, and returns the server's reply to it.
func openPacking(t *testing.T, p *process, port int, path, offer string) (peer, *bufio.Reader,
	string) {
	t.Helper()
	c := p.dial(port)
	c.say(handshake(path, "Sec-WebSocket-Extensions: "+offer))
	in := bufio.NewReader(c)
	a, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("the handshake: %v", err)
	}
	if a.StatusCode != 101 {
		return c, in, fmt.Sprint("status ", a.StatusCode)
	}
	return c, in, a.Header.Get("Sec-WebSocket-Extensions")
}

// nextFrame reads a frame of a server: its first byte, and its payload of less than 64 KiB.
func nextFrame(t *testing.T, in *bufio.Reader) (first byte, payload string) {
	t.Helper()
	head := make([]byte, 2)
	_, err := io.ReadFull(in, head)
	size := int(head[1])
	if size == 126 && err == nil {
		long := make([]byte, 2)
		_, err = io.ReadFull(in, long)
		size = int(long[0])<<8 | int(long[1])
	}
	body := make([]byte, size)
	if err == nil {
		_, err = io.ReadFull(in, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return head[0], string(body)
}

// What the server agrees to, and the bytes of its frames. Only messages that become smaller are
// packed.
func TestDeflateFrames(t *testing.T) {
	t.Parallel()
	p, port := serveDeflate(t)
	const its = "permessage-deflate"
	const forgets = its + "; server_no_context_takeover; client_no_context_takeover"
	for _, c := range []struct{ path, offer, want string }{
		{"/plain", its, ""}, {"/echo/keeps/15", its, its}, {"/echo/forgets/15", its, forgets},
		{"/echo/keeps/15", "x, " + its + "; client_max_window_bits=9", its +
			"; client_max_window_bits=9"},
		{"/echo/keeps/15", its + "; nonsense", ""}, {"/echo/keeps/15", "x;", "status 400"},
		{"/plain", "x;", "status 400"},
	} {
		if _, _, got := openPacking(t, p, port, c.path, c.offer); got != c.want {
			t.Errorf("%s to %q: got %q, want %q", c.path, c.offer, got, c.want)
		}
	}
	text := strings.Repeat("a line of text, ", 20)
	for _, keeps := range []bool{true, false} {
		path := map[bool]string{true: "/echo/keeps/15", false: "/echo/forgets/15"}[keeps]
		c, in, _ := openPacking(t, p, port, path, its)
		out := newGoPacker(t)
		var heard []string
		for range 2 {
			c.say(masked(last|opPacked|opText, out.pack(text)))
			first, payload := nextFrame(t, in)
			if first != last|opPacked|opText {
				t.Fatalf("keeps %v: the echo begins with %#x", keeps, first)
			}
			heard = append(heard, payload)
			if !keeps {
				out = newGoPacker(t)
			}
		}
		if keeps {
			if got, err := unpackedByFlate(heard...); err != nil || got != text+text {
				t.Errorf("it keeps: %v, %q", err, got)
			}
			if len(heard[1]) >= len(heard[0]) {
				t.Errorf("the second message has %d bytes, the first %d", len(heard[1]),
					len(heard[0]))
			}
		}
		for _, one := range heard[:map[bool]int{true: 1, false: 2}[keeps]] {
			if got, err := unpackedByFlate(one); err != nil || got != text {
				t.Errorf("keeps %v: %v, %q", keeps, err, got)
			}
		}
		const mixed = "0123456789abcdefghij" // it is plain, and would become no smaller
		c.say(masked(last|opText, mixed))
		if first, payload := nextFrame(t, in); first != last|opText || payload != mixed {
			t.Errorf("a text without a pattern: %#x %q", first, payload)
		}
		c.say(masked(last|opText, "short"))
		if first, payload := nextFrame(t, in); first != last|opText || payload != "short" {
			t.Errorf("a short text: %#x %q", first, payload)
		}
		c.say(masked(last|opPing, text[:100]))
		if first, payload := nextFrame(t, in); first != last|opPong || payload != text[:100] {
			t.Errorf("a pong: %#x %q", first, payload)
		}
		if keeps { // the next message would be too small to be cut
			continue
		}
		packed := out.pack(text)
		c.say(masked(opPacked|opText, packed[:5]) + masked(last|opPing, "between"))
		if first, _ := nextFrame(t, in); first != last|opPong {
			t.Errorf("between fragments: %#x", first)
		}
		c.say(masked(last|opRest, packed[5:]))
		if first, payload := nextFrame(t, in); first != last|opPacked|opText {
			t.Errorf("in fragments: %#x %q", first, payload)
		}
	}
}

// Packed messages of RFC 7692 section 7.2.3, and hostile ones, each on a connection of its own.
func TestDeflateHostile(t *testing.T) {
	t.Parallel()
	p, port := serveDeflate(t)
	hello := message(false, "Hello")
	packed := func(text string) string { return newGoPacker(t).pack(text) }
	bomb := packed(strings.Repeat("\x00", 64<<20)) // 64 KiB
	const damaged = "close 1007"
	for _, c := range []struct{ name, input, want string }{
		{"7.2.3.1", masked(opPacked|opText, "\xf2\x48\xcd") +
			masked(last|opRest, "\xc9\xc9\x07\x00"), hello},
		{"7.2.3.2", masked(last|opPacked|opText, "\xf2\x48\xcd\xc9\xc9\x07\x00") +
			masked(last|opPacked|opText, "\xf2\x00\x11\x00\x00"), hello + hello},
		{"7.2.3.3", masked(last|opPacked|opText, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"),
			hello},
		{"7.2.3.4", masked(last|opPacked|opText, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), hello},
		{"7.2.3.5", masked(last|opPacked|opText,
			"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"), hello},
		{"empty", masked(last|opPacked|opText, "\x02\x00"), message(false, "")},
		{"empty block", masked(last|opPacked|opBinary, "\x00"), message(true, "")},
		{"as large as may be", masked(last|opPacked|opBinary,
			packed(strings.Repeat("x", largestMessage))),
			message(true, strings.Repeat("x", largestMessage))},
		{"too large", masked(last|opPacked|opBinary,
			packed(strings.Repeat("x", largestMessage+1))), "close 1009"},
		{"bomb", masked(last|opPacked|opBinary, bomb), "close 1009"},
		{"no deflate", masked(last|opPacked|opText, "\xff\xff\xff\xff"), damaged},
		{"before the start", masked(last|opPacked|opText, "\xf2\x00\x11\x00\x00"), damaged},
		{"no byte", masked(last|opPacked|opText, ""), damaged},
		{"cut off", masked(last|opPacked|opText, "\xf2\x48\xcd"), damaged},
		{"cut off in a block", masked(last|opPacked|opText,
			"\x00\x05\x00\xfa\xff\x48\x65"), damaged},
		{"no UTF-8", masked(last|opPacked|opText, packed("a\xed\xa0\x80b")), damaged},
		{"half a character", masked(last|opPacked|opText, packed("a\xce")), damaged},
		{"bytes need not be", masked(last|opPacked|opBinary, packed("\xff\xfe")),
			message(true, "\xff\xfe")},
		{"a packed ping", masked(last|opPacked|opPing, ""), "close 1002"},
		{"a packed fragment", masked(opPacked|opText, "\xf2\x48") +
			masked(last|opPacked|opRest, "\xcd"), "close 1002"},
	} {
		peer, in, _ := openPacking(t, p, port, "/echo/keeps/15", "permessage-deflate")
		peer.say(c.input)
		if !strings.HasPrefix(c.want, "close") {
			peer.say(masked(last|opClose, closing(1000, "")))
			c.want += "close 1000"
		}
		all, err := io.ReadAll(in)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := echoes(t, string(all)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, head(got), head(c.want))
		}
	}
	// without a window the second message means nothing
	peer, in, _ := openPacking(t, p, port, "/echo/forgets/15", "permessage-deflate")
	peer.say(masked(last|opPacked|opText, "\xf2\x48\xcd\xc9\xc9\x07\x00") +
		masked(last|opPacked|opText, "\xf2\x00\x11\x00\x00"))
	all, _ := io.ReadAll(in)
	if got := echoes(t, string(all)); got != hello+damaged {
		t.Errorf("without a window: got %q", got)
	}
	c := dialPacking(t, port, "/echo/keeps/15", websocket.CompressionContextTakeover)
	sendMessage(t, c, websocket.MessageText, "still here, still here")
	mustReceive(t, c, websocket.MessageText, "still here, still here")
}

// echoes are the frames of a server in the form of answersTo, unpacked.
func echoes(t *testing.T, all string) string {
	t.Helper()
	var got strings.Builder
	var before []string
	known := 0 // bytes of the messages before
	r := frameReader{packs: true, rest: all}
	for line := r.next(); line != ""; line = r.next() {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "packed" {
			got.WriteString(line)
			continue
		}
		binary, digits, _ := strings.Cut(rest, " ")
		before = append(before, string(unhex(t, digits)))
		text, err := unpackedByFlate(before...)
		if err != nil {
			t.Fatalf("the server's %q: %v", digits, err)
		}
		got.WriteString(message(binary == "true", text[known:]))
		known = len(text)
	}
	return got.String()
}

// A window bounds how far back the messages of Eve refer, and those of its peers may.
func TestDeflateWindows(t *testing.T) {
	t.Parallel()
	exe := example(t, "deflate")
	const lookahead = 262 // by which zlib's packer refers back less far than its window
	block := make([]byte, 100)
	for i := range block {
		block[i] = byte(rand.Uint32())
	}
	again := hex.EncodeToString(block) // so that it becomes smaller alone, too
	for _, c := range []struct{ window, apart int }{{15, 30_000}, {15, 40_000}, {12, 3500},
		{12, 5000}, {10, 700}, {10, 1500}, {9, 210}, {9, 600}, {8, 210}, {8, 300}} {
		first := again + strings.Repeat("x", c.apart-len(again))
		p := newGoPacker(t)
		got := compressed(t, exe, fmt.Sprintf("pack keeps %d 9 %x %x", c.window, first, again),
			fmt.Sprintf("unpack keeps %d 100000 %x %x", c.window, p.pack(first), p.pack(again)))
		var packed []string
		for _, part := range strings.Fields(got[0]) {
			packed = append(packed, string(unhex(t, part)))
		}
		if back, err := unpackedByFlate(packed...); err != nil || back != first+again {
			t.Errorf("%+v: %v, %d bytes", c, err, len(back))
		}
		reaches := c.window > 8 && c.apart <= 1<<c.window-lookahead
		if n := len(packed[1]); (n < 40) != reaches {
			t.Errorf("%+v: the second message has %d bytes of %d", c, n, len(again))
		}
		want := hex.EncodeToString([]byte(again))
		if c.apart > 1<<c.window && c.window < 15 { // and Go does not refer back by more either
			want = "error-1-invalid-distance-too-far-back"
		}
		if parts := strings.Fields(got[1]); len(parts) != 2 || parts[1] != want {
			t.Errorf("%+v: Go's is unpacked as %q, want %q", c, head(got[1]), want)
		}
	}
	// with eight bits there are only runs, but those are packed
	text := strings.Repeat("a", 1000) + strings.Repeat("b", 1000)
	got := compressed(t, exe, fmt.Sprintf("pack keeps 8 6 %x %x", text, text))
	for _, part := range strings.Fields(got[0]) {
		if len(part) > 200 {
			t.Errorf("runs of %d bytes become %d", len(text), len(part)/2)
		}
	}
}

// Any bytes are unpacked as Go unpacks them, or not at all; and whatever was packed can be.
func FuzzDeflate(f *testing.F) {
	exe := example(f, "deflate")
	p := newGoPacker(f)
	for _, data := range []string{"", "\x00", "\x02\x00", "\xf2\x48\xcd\xc9\xc9\x07\x00",
		"\xf3\x48\xcd\xc9\xc9\x07\x00\x00", "\xf2\x00\x11\x00\x00", p.pack("hello, hello, hello"),
		p.pack("hello, hello, hello"), strings.Repeat("hello, ", 30)} {
		f.Add(data, "x"+data, true, 15)
		f.Add(data, data, false, 9)
	}
	f.Fuzz(func(t *testing.T, first, second string, keeps bool, window int) {
		if window < 8 || window > 15 {
			return
		}
		how := fmt.Sprintf("%s %d", map[bool]string{true: "keeps", false: "forgets"}[keeps], window)
		got := compressed(t, exe, fmt.Sprintf("unpack %s 100000 %x", how, first),
			fmt.Sprintf("pack %s 6 %x %x", how, first, second))
		if !strings.HasPrefix(got[0], "error-") {
			want, err := unpackedByFlate(first)
			if err != nil || got[0] != hex.EncodeToString([]byte(want)) {
				t.Errorf("%q: got %q, want %q, %v", first, head(got[0]), head(want), err)
			}
		}
		packed := strings.Split(got[1], " ")
		if packed[0] == "" || packed[1] == "" {
			return // they are sent as they are
		}
		one, two := string(unhex(t, packed[0])), string(unhex(t, packed[1]))
		if len(one) >= len(first) || len(two) >= len(second) {
			t.Errorf("%q and %q became no smaller: %q and %q", first, second, one, two)
		}
		text, err := unpackedByFlate(one)
		if keeps && err == nil {
			text, err = unpackedByFlate(one, two)
		} else if err == nil {
			var rest string
			rest, err = unpackedByFlate(two)
			text += rest
		}
		if err != nil || text != first+second {
			t.Errorf("packed: %v, %q, want %q", err, text, first+second)
		}
	})
}

// A connection that keeps no window costs no memory for its packed messages; one that does costs
// what the library says of its window.
func TestDeflateMemory(t *testing.T) {
	if *sanitize != "" {
		t.Skip("a sanitizer has memory of its own")
	}
	const clients = 200
	text := strings.Repeat("a line of text, ", 200)
	kib := func(p *process) int {
		t.Helper()
		smaps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB$`).FindSubmatch(smaps)
		if found == nil {
			t.Fatalf("no size in %q", smaps)
		}
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	each := func(path, frame string) (kibibytes float64) {
		t.Helper()
		p, port := serveDeflate(t)
		talk := func() {
			t.Helper()
			c, in, _ := openPacking(t, p, port, path, "permessage-deflate; client_max_window_bits")
			for range 2 {
				c.say(frame)
				nextFrame(t, in)
			}
		}
		for range 20 {
			talk()
		}
		before := kib(p)
		for range clients {
			talk()
		}
		return float64(kib(p)-before) / clients
	}
	packed := masked(last|opPacked|opText, newGoPacker(t).pack(text))
	plain := each("/plain", masked(last|opText, text))
	for _, c := range []struct {
		path string
		most float64 // KiB
	}{{"/echo/forgets/15", 4}, {"/echo/keeps/15", 330}, {"/echo/keeps/12", 64},
		{"/echo/keeps/9", 32}} {
		got := each(c.path, packed) - plain
		t.Logf("%s: %.1f KiB for a client beyond the %.1f of a plain one", c.path, got, plain)
		if got > c.most {
			t.Errorf("%s: %.1f KiB for a client beyond that of a plain one, at most %.0f are "+
				"allowed", c.path, got, c.most)
		}
	}
}

// A browser agrees to pack, and its messages and those of the server come through.
func TestDeflateInBrowser(t *testing.T) {
	t.Parallel()
	chromium.Needed(t)
	p, port := serveDeflate(t)
	page := chromium.Open(t, 400, 300, "")
	page.Do(chromedp.Navigate(fmt.Sprintf("http://127.0.0.1:%d/", port)))
	page.Until("three texts have come back", `document.querySelector("#said").textContent ===
		"permessage-deflate; client_max_window_bits=12: 3 1005"`)
	p.eventually("the server knows", func() bool {
		return strings.Contains(p.out.String(), "closed 1005 \n")
	})
}
