package servers_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
)

// methods are many fields of one byte each, `:method: GET` of the static table (RFC 7541).
var methods = bytes.Repeat([]byte{0x82}, 16_000)

// hostile are clients that want the server to work or to keep memory for nothing: what they do
// again and again until they are cut off, and with which code the server ends the connection.
var hostile = []struct {
	name  string
	begin func(f *framer) error
	again func(f *framer, i uint32) error
	code  http2.ErrCode
}{
	{"rapid reset", nil, func(f *framer, i uint32) error {
		return errors.Join(f.ask(2*i+1, "GET", "/slow/1000", false),
			f.WriteRSTStream(2*i+1, http2.ErrCodeCancel))
	}, http2.ErrCodeEnhanceYourCalm},
	{"wrong requests", nil, func(f *framer, i uint32) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, EndHeaders: true,
			EndStream: true, BlockFragment: f.head("GET", "/", "Upper", "x")})
	}, http2.ErrCodeEnhanceYourCalm},
	{"pings", nil, func(f *framer, i uint32) error {
		return f.WritePing(false, [8]byte{byte(i)})
	}, http2.ErrCodeEnhanceYourCalm},
	{"settings", nil, func(f *framer, _ uint32) error {
		return f.WriteSettings()
	}, http2.ErrCodeEnhanceYourCalm},
	{"priorities", nil, func(f *framer, i uint32) error {
		return f.WritePriority(2*i+1, http2.PriorityParam{StreamDep: 0})
	}, http2.ErrCodeEnhanceYourCalm},
	{"empty data", func(f *framer) error {
		return f.ask(1, "POST", "/echo", true)
	}, func(f *framer, _ uint32) error {
		return f.WriteData(1, false, nil)
	}, http2.ErrCodeEnhanceYourCalm},
	{"padded data", func(f *framer) error {
		return f.ask(1, "POST", "/echo", true)
	}, func(f *framer, _ uint32) error {
		return f.WriteDataPadded(1, false, nil, []byte{})
	}, http2.ErrCodeEnhanceYourCalm},
	{"small windows", func(f *framer) error {
		return f.ask(1, "GET", "/large", false)
	}, func(f *framer, _ uint32) error {
		return f.WriteWindowUpdate(1, 1)
	}, http2.ErrCodeEnhanceYourCalm},
	{"continuations", func(f *framer) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
			BlockFragment: f.head("GET", "/")})
	}, func(f *framer, _ uint32) error {
		return f.WriteContinuation(1, false, nil)
	}, http2.ErrCodeEnhanceYourCalm},
	{"header bombs", nil, func(f *framer, i uint32) error {
		bomb := []string{"x", strings.Repeat("x", 4000)}
		for len(bomb) < 1000 {
			bomb = append(bomb, bomb[:2]...) // of one byte each: the table has them
		}
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, EndHeaders: true,
			EndStream: true, BlockFragment: f.head("GET", "/", bomb...)})
	}, http2.ErrCodeEnhanceYourCalm},
	{"unknown frames", nil, func(f *framer, _ uint32) error {
		return f.WriteRawFrame(0xf0, 0, 0, make([]byte, 4<<10))
	}, http2.ErrCodeEnhanceYourCalm},
	{"data of an ended stream", func(f *framer) error {
		return errors.Join(f.ask(1, "POST", "/echo", true),
			f.WriteRSTStream(1, http2.ErrCodeCancel))
	}, func(f *framer, _ uint32) error {
		return f.WriteData(1, false, make([]byte, 4<<10))
	}, http2.ErrCodeEnhanceYourCalm},
	{"heads of an ended stream", func(f *framer) error {
		return errors.Join(f.ask(1, "POST", "/echo", true),
			f.WriteRSTStream(1, http2.ErrCodeCancel))
	}, func(f *framer, _ uint32) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true,
			EndStream: true, BlockFragment: methods})
	}, http2.ErrCodeEnhanceYourCalm},
	{"window beyond its end", nil, func(f *framer, _ uint32) error {
		return f.WriteWindowUpdate(0, 1<<31-1)
	}, http2.ErrCodeFlowControl},
	{"even stream", nil, func(f *framer, _ uint32) error {
		return f.ask(2, "GET", "/", false)
	}, http2.ErrCodeProtocol},
	{"large frame", nil, func(f *framer, _ uint32) error {
		return f.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 1<<20))
	}, http2.ErrCodeFrameSize},
}

// Hostile clients are told why they are cut off, and the server serves the others.
func TestHTTP2Hostile(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP2(t, 2)
	before := p.descriptors()
	for _, h := range hostile {
		f := p.frame(port)
		f.must(f.SetNoDelay(true))
		f.AllowIllegalWrites = true
		var code http2.ErrCode
		told, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			code, told = f.farewell()
		}()
		var err error
		if h.begin != nil {
			f.must(h.begin(f))
		}
		for i := uint32(0); i < 20_000 && err == nil; i++ {
			err = h.again(f, i)
		}
		f.CloseWrite()
		<-ended
		if told && code != h.code {
			t.Errorf("%s: the server ends the connection with %v, want %v", h.name, code, h.code)
		}
		// A reset of TCP, which a writer or a reader notices, may have overtaken what it is told.
		if !told && err == nil && !errors.Is(f.end, syscall.ECONNRESET) {
			t.Errorf("%s: the server takes it all: %v", h.name, f.end)
		}
		f.Close()
	}
	c := p.dial(port)
	c.say("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
	if said, err := io.ReadAll(c); err != nil || len(said) < 17 ||
		said[3] != byte(http2.FrameGoAway) {
		t.Errorf("behind a wrong preface: %x, %v", said, err)
	}
	for range 50 { // bytes at random
		f := p.frame(port)
		noise := make([]byte, 300)
		for i := range noise {
			noise[i] = byte(rand.Uint32() >> rand.N(32))
		}
		_, _ = f.Write(noise) // the server may have hung up already
		f.CloseWrite()
		f.farewell()
		f.Close()
	}
	for range 50 { // a client that says all, and its end, before the server has read a word of it
		f := p.frame(port)
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
			BlockFragment: f.head("GET", "/")})
		for i := 0; i < 20 && err == nil; i++ { // an error is that it has been cut off already
			err = f.WriteContinuation(1, false, nil)
		}
		f.CloseWrite()
		if code, told := f.farewell(); !told || code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("a client that ends at once is told %v, %v, %v", code, told, f.end)
		}
		f.Close()
	}
	newBrowser2(t, port).must("GET", "/", nil, 200, "hello 1\n")
	p.eventually("no connection is left", func() bool { return p.descriptors() <= before+1 })
}

// Clients have the server reset their streams, in place of doing that themselves: the bodies of
// their requests are shorter, or longer, than the heads say (CVE-2025-8671). That is no cheaper.
func TestHTTP2MadeYouReset(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP2(t, 2)
	const batch = 50 // of 100 streams that may be open at a time: more would be refused
	for _, body := range []string{"", "ab"} {
		f := p.frame(port)
		id, over := uint32(1), false
		for id < 8000 && !over {
			for range batch {
				// an error shows in what is read
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true,
					BlockFragment: f.head("POST", "/echo", "content-length", "1")})
				_ = f.WriteData(id, true, []byte(body))
				id += 2
			}
			over = f.ended(batch)
		}
		if !over {
			t.Errorf("bodies of %d bytes: the server takes them all", len(body))
		}
		f.Close()
	}
	newBrowser2(t, port).must("GET", "/", nil, 200, "hello 1\n")
}

// ended reads so many resets of streams. It returns true if the server ends the connection before,
// which it must do by ENHANCE_YOUR_CALM.
func (f *framer) ended(resets int) bool {
	f.t.Helper()
	for resets > 0 {
		got, err := f.ReadFrame()
		switch got := got.(type) {
		case *http2.RSTStreamFrame:
			resets--
		case *http2.GoAwayFrame:
			if got.ErrCode != http2.ErrCodeEnhanceYourCalm {
				f.t.Errorf("the server ends the connection with %v", got.ErrCode)
			}
			return true
		}
		if err != nil { // a reset of TCP has overtaken the frame
			return true
		}
	}
	return false
}
