package servers_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// A visit is a sequence of clients of a server, one after the other.
type visit struct {
	*house
	*net.TCPConn
	number int
	turns  int
	buffer []byte
}

// A leave is a way to end a connection.
type leave struct {
	name  string
	talks bool // talks before it leaves
	deaf  bool // has small receive buffers
	by    func(v *visit) error
}

var leaveByEnd = leave{"close", true, false, (*visit).end}

var leaves = []leave{
	leaveByEnd,
	{"half-close", true, false, (*visit).halfClose},
	{"reset", true, false, (*visit).reset},
	{"close with input unread", true, false, (*visit).endUnread},
	{"half-close with input unread", true, true, (*visit).halfCloseUnread},
	{"reset while the server writes", false, true, (*visit).resetUnread},
	{"vanishing while the server writes", true, true, (*visit).vanish},
	{"close at once", false, false, (*visit).end},
	{"reset at once", false, false, (*visit).reset},
}

// stay is a whole connection: it connects, talks, and leaves.
func (v *visit) stay(l leave) error {
	if err := v.come(l.deaf); err != nil {
		return err
	}
	defer v.Close()
	v.turns++
	if l.talks {
		if err := v.talk(v); err != nil {
			return fmt.Errorf("talking: %w", err)
		}
	}
	if err := l.by(v); err != nil {
		return fmt.Errorf("leaving: %w", err)
	}
	return nil
}

// come connects, each time from another address of this machine: a port in TIME-WAIT then concerns
// one address only.
func (v *visit) come(deaf bool) error {
	site := v.sites.Add(1)
	from := net.IPv4(127, 0, byte(1+site/250%250), byte(1+site%250))
	d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: from}}
	if deaf {
		d.Control = littleRoom
	}
	c, err := d.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", v.port))
	if err != nil {
		return err
	}
	v.TCPConn = c.(*net.TCPConn)
	v.seen.Add(1)
	return v.SetDeadline(time.Now().Add(patience))
}

// littleRoom makes the receive buffers small.
func littleRoom(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
	})
}

func (v *visit) end() error { return v.Close() }

func (v *visit) reset() error {
	v.SetLinger(0)
	return v.Close()
}

// halfClose closes its side, and waits until the server has done the same.
func (v *visit) halfClose() error {
	if err := v.CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, v.TCPConn)
	return err
}

// request asks for more output than it will read. The request fits the kernel's buffers, so this
// does not block. A server that has closed already is no error.
func (v *visit) request() error {
	_, err := v.Write(v.ask)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

func (v *visit) endUnread() error { return errors.Join(v.request(), v.Close()) }

func (v *visit) resetUnread() error { return errors.Join(v.request(), v.reset()) }

// halfCloseUnread lets the server see the end while it writes, and then leaves.
func (v *visit) halfCloseUnread() error {
	if err := v.request(); err != nil {
		return err
	}
	if err := v.CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
		return err
	}
	return v.Close()
}

// tcpRepair is TCP_REPAIR of tcp(7): a socket under repair closes without a segment to the peer.
// Without the permission for it the client leaves by a reset.
const tcpRepair = 19

// vanish leaves without a segment while the server has output for it, which then gets no answer.
func (v *visit) vanish() error {
	if err := v.request(); err != nil {
		return err
	}
	return v.disappear()
}

func (v *visit) disappear() error {
	raw, err := v.SyscallConn()
	if err != nil {
		return err
	}
	var denied error
	if err := raw.Control(func(fd uintptr) {
		denied = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpRepair, 1)
	}); err != nil {
		return err
	}
	if denied != nil {
		return v.reset()
	}
	return v.Close()
}

func repeat(text string, n int) []byte { return bytes.Repeat([]byte(text), n) }

// talkEcho sends a text of 1 to 32 KiB, and reads it back.
func talkEcho(v *visit) error {
	size := 1 + (v.turns*7919+v.number*104729)%(32<<10)
	said := bytes.Repeat([]byte(fmt.Sprintf("%d/%d ", v.number, v.turns)), size/4+1)[:size]
	if _, err := v.Write(said); err != nil {
		return err
	}
	heard := make([]byte, size)
	if n, err := io.ReadFull(v, heard); err != nil {
		return fmt.Errorf("%d of %d bytes came back: %w", n, size, err)
	}
	if !bytes.Equal(heard, said) {
		return errors.New("other bytes came back")
	}
	return nil
}

// talkBroadcast sends a unique message, and reads until it comes back.
func talkBroadcast(v *visit) error {
	return v.sayAndHear("")
}

func talkRooms(v *visit) error {
	return v.sayAndHear(fmt.Sprintf("room %d\n", v.turns%8))
}

func (v *visit) sayAndHear(before string) error {
	token := fmt.Sprintf("<%x>", v.tokens.Add(1))
	end := ""
	if before != "" {
		end = "\n"
	}
	if _, err := io.WriteString(v, before+token+end); err != nil {
		return err
	}
	if v.buffer == nil {
		v.buffer = make([]byte, 64<<10)
	}
	kept := 0
	for {
		n, err := v.Read(v.buffer[kept:])
		heard := v.buffer[:kept+n]
		if strings.Contains(string(heard), token) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s did not come back: %w", token, err)
		}
		kept = min(len(heard), len(token)-1)
		copy(v.buffer, heard[len(heard)-kept:])
	}
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }

// talkHTTP sends four requests at once, and reads the replies in their order.
func talkHTTP(v *visit) error {
	body := strings.Repeat(fmt.Sprint(v.number, "/", v.turns, " "), 1+v.turns%500)
	asked := fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	if _, err := io.WriteString(v, get("/later")+asked+get("/parts")+asked); err != nil {
		return err
	}
	in := bufio.NewReader(v)
	for _, want := range []string{"later", body, "one two", body} {
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if heard, err := io.ReadAll(a.Body); err != nil || string(heard) != want {
			return fmt.Errorf("heard %q, %v, want %q", head(string(heard)), err, head(want))
		}
	}
	return nil
}

// talkWebSocket sends three messages and a ping at once, and reads the answers to the messages in
// their order. Messages of others may come between. Every second time it closes by a frame.
func talkWebSocket(v *visit) error {
	text := strings.Repeat(fmt.Sprint(v.number, "/", v.turns, " "), 1+v.turns%500)
	input := handshake("/") + masked(opText, text[:1]) + masked(last|opPing, "x") +
		masked(last|opRest, text[1:]) + masked(last|opText, "all") + masked(last|opText, text)
	if _, err := io.WriteString(v, input); err != nil {
		return err
	}
	in := bufio.NewReader(v)
	if a, err := http.ReadResponse(in, nil); err != nil || a.StatusCode != 101 {
		return fmt.Errorf("the handshake: %v", err)
	}
	for _, want := range []string{text, "all", text} {
		for heard := ""; heard != want; {
			var err error
			if heard, err = readMessage(in); err != nil {
				return err
			}
			if heard != want && heard != "to all" {
				return fmt.Errorf("heard %q, want %q", head(heard), head(want))
			}
		}
	}
	if v.turns%2 == 0 {
		return nil
	}
	_, err := io.WriteString(v, masked(last|opClose, closing(1000, "")))
	return err
}

// readMessage is the next message of a server that sends each as one frame; pongs are left out.
func readMessage(in *bufio.Reader) (string, error) {
	for {
		var frame [2]byte
		if _, err := io.ReadFull(in, frame[:]); err != nil {
			return "", err
		}
		size := int(frame[1])
		if size == 126 {
			var long [2]byte
			if _, err := io.ReadFull(in, long[:]); err != nil {
				return "", err
			}
			size = int(binary.BigEndian.Uint16(long[:]))
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(in, payload); err != nil {
			return "", err
		}
		if frame[0] == last|opText {
			return string(payload), nil
		}
	}
}

// talkCounter increments and reads in turns; the replies never fall.
func talkCounter(v *visit) error {
	asked := []byte("\x01\x00\x01\x01\x00")
	if _, err := v.Write(asked); err != nil {
		return err
	}
	heard := make([]byte, 8*len(asked))
	if _, err := io.ReadFull(v, heard); err != nil {
		return err
	}
	last := uint64(0)
	for i, a := range asked {
		n := binary.BigEndian.Uint64(heard[8*i:])
		if n < last+uint64(a) {
			return fmt.Errorf("%d came after %d", n, last)
		}
		last = n
	}
	return nil
}
