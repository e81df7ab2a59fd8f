package load

// A server of chats that the engine is tested against: right, late by a known time, or wrong in one
// of its deliveries.

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// A chatServer keeps rooms. Its fields are set before it serves.
type chatServer struct {
	delay time.Duration // of each delivery
	// deliver is what comes of the n-th delivery of the server; nil: what should.
	deliver func(n int, line string) []string
	greet   func(nick string) string // nil: 001 and 422
	ping    int                      // asks a client by PING after so many of its lines; 0: never
	silent  bool                     // answers no PING of a client

	mu        sync.Mutex
	rooms     map[string][]*chatPeer
	delivered int
	said      []string // messages, in order
	pongs     int
}

type chatPeer struct {
	nick string
	mu   sync.Mutex
	more *sync.Cond
	out  []chatLine
	gone bool
}

type chatLine struct {
	at   time.Time
	text string
}

func startChat(t testing.TB, s *chatServer) netip.AddrPort {
	s.rooms = make(map[string][]*chatPeer)
	return listen(t, s.serve)
}

// chatProcess is a right server in a process of its own. It prints its port.
func chatProcess() int {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	s := &chatServer{rooms: make(map[string][]*chatPeer)}
	for {
		c, err := l.Accept()
		if err != nil {
			return fail(err)
		}
		go s.serve(c.(*net.TCPConn))
	}
}

func (c *chatPeer) send(after time.Duration, lines ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lines {
		c.out = append(c.out, chatLine{time.Now().Add(after), l})
	}
	c.more.Signal()
}

// write sends what is due until the connection has gone.
func (c *chatPeer) write(to net.Conn) {
	var text []byte
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.gone {
			c.more.Wait()
		}
		if c.gone {
			c.mu.Unlock()
			return
		}
		lines := c.out
		c.out = nil
		c.mu.Unlock()
		for len(lines) > 0 {
			time.Sleep(time.Until(lines[0].at))
			text = text[:0]
			for len(lines) > 0 && !lines[0].at.After(time.Now()) {
				text = append(text, lines[0].text...)
				lines = lines[1:]
			}
			if _, err := to.Write(text); err != nil {
				return
			}
		}
	}
}

func (s *chatServer) serve(conn *net.TCPConn) {
	c := &chatPeer{}
	c.more = sync.NewCond(&c.mu)
	var writing sync.WaitGroup
	writing.Go(func() { c.write(conn) })
	defer writing.Wait()
	defer func() {
		c.mu.Lock()
		c.gone = true
		c.more.Signal()
		c.mu.Unlock()
		conn.Close()
	}()
	r := bufio.NewScanner(conn)
	for n := 1; r.Scan(); n++ {
		words := strings.SplitN(r.Text(), " ", 3)
		switch words[0] {
		case "NICK":
			c.nick = words[1]
		case "USER":
			greeting := fmt.Sprintf(":test 001 %s :Welcome\r\n:test 422 %[1]s :No MOTD\r\n", c.nick)
			if s.greet != nil {
				greeting = s.greet(c.nick)
			}
			c.send(0, greeting)
		case "JOIN":
			s.join(c, words[1])
		case "PRIVMSG":
			s.message(c, words[1], r.Text())
		case "PING":
			if !s.silent {
				c.send(s.delay, fmt.Sprintf(":test PONG test :%s\r\n", words[1]))
			}
		case "PONG":
			s.mu.Lock()
			s.pongs++
			s.mu.Unlock()
		}
		if s.ping > 0 && n%s.ping == 0 {
			c.send(0, "PING :are you there?\r\n")
		}
	}
}

func (s *chatServer) join(c *chatPeer, room string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.rooms[room] {
		m.send(0, fmt.Sprintf(":%s!c@127.0.0.1 JOIN %s\r\n", c.nick, room))
	}
	s.rooms[room] = append(s.rooms[room], c)
	c.send(0,
		fmt.Sprintf(":%s!c@127.0.0.1 JOIN %s\r\n:test 353 %[1]s = %[2]s :...\r\n:test 366 %[1]s "+
			"%[2]s :End\r\n", c.nick, room))
}

func (s *chatServer) message(c *chatPeer, room, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line = fmt.Sprintf(":%s!c@127.0.0.1 %s\r\n", c.nick, line)
	s.said = append(s.said, line)
	for _, m := range s.rooms[room] {
		if m == c {
			continue
		}
		s.delivered++
		lines := []string{line}
		if s.deliver != nil {
			lines = s.deliver(s.delivered, line)
		}
		m.send(s.delay, lines...)
	}
}
