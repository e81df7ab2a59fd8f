// Command chat is a small server of services/chat with one fault, which its first argument names.
// It does as much of the service as the tests of the verbs need. It trades speed for shortness: it
// has one lock, and for each client a goroutine that writes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	mu      sync.Mutex // of all below, and of all clients
	fault   string
	folder  string
	log     *os.File
	size    int64 // of the log
	count   int   // of messages
	changed bool  // past, since it was saved
	late    []byte
	here    = map[string]*client{}
	rooms   = map[string]map[*client]bool{}
	past    = map[string]map[string]int64{} // nick, room: where in the log what was missed begins
)

type client struct {
	conn               net.Conn
	nick               string
	rooms              []string
	user, echo, broken bool
	queue              [][]byte
	held               int
	wake               *sync.Cond
	ends, cut          bool
	asked              int64 // what it has when it answers the ping under way; 0: none is
}

// maxHeld is how many bytes may wait for one client. pingEvery is how often clients that were sent
// something get a PING.
const (
	maxHeld   = 1 << 20
	pingEvery = time.Second
)

func main() {
	fault, folder = os.Args[1], os.Args[4]
	fatal(os.MkdirAll(folder, 0o700))
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	fatal(err)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil &&
		fault != "shares" {
		fatal(fmt.Errorf("the folder is in use"))
	}
	log, err = os.OpenFile(filepath.Join(folder, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	fatal(err)
	text, err := os.ReadFile(log.Name())
	fatal(err)
	size = int64(bytes.LastIndexByte(text, '\n') + 1)
	if fault != "keeps-torn" {
		fatal(log.Truncate(size))
	}
	if state, err := os.ReadFile(filepath.Join(folder, "state")); err == nil {
		fatal(json.Unmarshal(state, &past))
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Args[3], os.Args[2]))
	fatal(err)
	fmt.Fprintln(os.Stderr, "ready")
	go terminate()
	go ask()
	for {
		conn, err := listener.Accept()
		fatal(err)
		c := &client{conn: conn, wake: sync.NewCond(&mu)}
		go c.write()
		go c.read()
	}
}

// fatal ends the server if there is an error.
func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// terminate says ERROR to all on SIGTERM. What is queued is written before the end, if that takes
// less than a second.
func terminate() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	mu.Lock()
	for _, c := range here {
		c.end("the server ends")
	}
	save()
	mu.Unlock()
	time.Sleep(300 * time.Millisecond)
	os.Exit(0)
}

func ask() {
	for range time.Tick(pingEvery) {
		mu.Lock()
		for _, c := range here {
			if c.asked == 0 && !c.ends {
				c.asked = size + 1
				c.send("PING :%d", size)
			}
		}
		mu.Unlock()
	}
}

// save replaces the old state by a new one. Its bytes are on the disk before its name is, and its
// name before save returns.
func save() {
	state, _ := json.Marshal(past)
	next, err := os.OpenFile(filepath.Join(folder, "next"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC,
		0o600)
	if err != nil {
		return
	}
	defer next.Close()
	if _, err := next.Write(state); err != nil {
		return
	}
	if fault != "state-skips-sync" {
		_ = next.Sync()
	}
	_ = os.Rename(next.Name(), filepath.Join(folder, "state"))
	if dir, err := os.Open(folder); err == nil && fault != "name-skips-sync" {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

func (c *client) send(format string, args ...any) {
	if c.ends {
		return
	}
	line := fmt.Appendf(nil, format+"\r\n", args...)
	if c.held += len(line); c.held > maxHeld {
		c.cut = true
		c.end("too slow")
		return
	}
	c.queue = append(c.queue, line)
	c.wake.Signal()
}

func (c *client) end(why string) {
	c.queue, c.ends = append(c.queue, []byte("ERROR :"+why+"\r\n")), true
	c.wake.Signal()
}

func (c *client) write() {
	for {
		mu.Lock()
		for len(c.queue) == 0 && !c.ends {
			c.wake.Wait()
		}
		text, ends := bytes.Join(c.queue, nil), c.ends
		c.queue = nil
		if c.cut {
			_ = c.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		}
		mu.Unlock()
		_, err := c.conn.Write(text)
		mu.Lock()
		c.held = max(0, c.held-len(text))
		c.broken = c.broken || err != nil
		mu.Unlock()
		if err != nil || ends {
			c.conn.Close()
			return
		}
	}
}

func (c *client) read() {
	in := bufio.NewReader(c.conn)
	for {
		line, err := in.ReadString('\n')
		mu.Lock()
		if err != nil || c.ends {
			orderly := err != nil && err.Error() == "EOF" && !c.broken && !c.cut
			c.leave(orderly)
			mu.Unlock()
			return
		}
		c.obey(strings.TrimRight(line, "\r\n"))
		mu.Unlock()
	}
}

// leave takes a client out of its rooms. A client that has ended in order has received
// all that was sent.
func (c *client) leave(orderly bool) {
	if here[c.nick] != c {
		return
	}
	delete(here, c.nick)
	for _, room := range c.rooms {
		delete(rooms[room], c)
		for other := range rooms[room] {
			other.send(":%s!%s@127.0.0.1 QUIT :gone", c.nick, c.nick)
		}
		if orderly || fault == "forgets" {
			past[c.nick][room], changed = size, true
		}
	}
	c.ends = true
	c.wake.Signal()
}

func (c *client) obey(line string) {
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "CAP":
		c.echo = c.echo || strings.Contains(rest, "echo-message")
	case "NICK":
		c.nick = rest
	case "USER":
		c.user = true
		if past[c.nick] == nil {
			past[c.nick] = map[string]int64{}
		}
		here[c.nick] = c
		c.send(":chat 422 %s :no message of the day", c.nick)
	case "PING":
		c.kept()
		if fault != "no-pong" {
			c.send(":chat PONG chat :%s", rest)
		}
	case "PONG":
		for _, room := range c.rooms {
			past[c.nick][room], changed = max(past[c.nick][room], c.asked-1), true
		}
		c.asked = 0
	case "QUIT":
		c.end("bye")
		c.leave(true)
	case "JOIN":
		for room := range strings.SplitSeq(rest, ",") {
			c.join(room)
		}
	case "PART":
		c.part(rest)
	case "NAMES":
		c.names(rest)
	case "PRIVMSG":
		room, text, _ := strings.Cut(rest, " :")
		c.say(room, text)
	}
}

// kept waits until all that was said is on the disk.
func (c *client) kept() {
	if fault == "acknowledges-early" {
		return
	}
	if fault != "skips-sync" {
		fatal(syscall.Fdatasync(int(log.Fd())))
	}
	if changed {
		save()
		changed = false
	}
}

func (c *client) names(room string) {
	var nicks []string
	for other := range rooms[room] {
		nicks = append(nicks, other.nick)
	}
	c.send(":chat 353 %s = %s :%s", c.nick, room, strings.Join(nicks[:min(len(nicks), 20)], " "))
	c.send(":chat 366 %s %s :end", c.nick, room)
}

func (c *client) join(room string) {
	if rooms[room] == nil {
		rooms[room] = map[*client]bool{}
	}
	rooms[room][c] = true
	c.rooms = append(c.rooms, room)
	for other := range rooms[room] {
		other.send(":%s!%s@127.0.0.1 JOIN %s", c.nick, c.nick, room)
	}
	c.names(room)
	from, member := past[c.nick][room]
	if !member {
		past[c.nick][room], changed = size, true
		return
	}
	text, _ := os.ReadFile(log.Name())
	missed := 0
	for line := range strings.SplitSeq(string(text[min(from, int64(len(text))):]), "\n") {
		if strings.Contains(line, " PRIVMSG "+room+" :") &&
			!strings.Contains(line, " :"+c.nick+"!") {
			if missed++; fault == "misses-one" && missed == 3 {
				continue
			}
			// missed lines do not count: a real server sends them as the client reads
			c.held = 0
			c.send("%s", line[25:])
			if fault == "repeats" && missed == 3 {
				c.send("%s", line[25:])
			}
		}
	}
}

func (c *client) part(room string) {
	if !rooms[room][c] {
		return
	}
	for other := range rooms[room] {
		other.send(":%s!%s@127.0.0.1 PART %s", c.nick, c.nick, room)
	}
	delete(rooms[room], c)
	c.rooms = slices.DeleteFunc(c.rooms, func(r string) bool { return r == room })
	delete(past[c.nick], room)
	changed = true
}

func (c *client) say(room, text string) {
	body := fmt.Sprintf(":%s!%s@127.0.0.1 PRIVMSG %s :%s", c.nick, c.nick, room, text)
	audience := rooms[room]
	if other := here[room]; other != nil {
		audience = map[*client]bool{other: true}
	} else if !audience[c] {
		c.send(":chat 404 %s %s :not in it", c.nick, room)
		return
	}
	count++
	wrong := count%20 == 0 // every now and then
	if err := keep(body, wrong); err != nil {
		c.send(":chat 404 %s %s :%v", c.nick, room, err)
		return
	}
	if audience[c] && c.echo { // its echo is an acknowledgement
		c.kept()
	}
	for other := range audience {
		if other == c && !c.echo {
			continue
		}
		switch {
		case wrong && fault == "loses" && other != c:
		case wrong && fault == "doubles":
			other.send("%s", body)
			other.send("%s", body)
		case wrong && fault == "mixes":
			other.send("%s%s", body, text)
		case wrong && fault == "cuts":
			other.send("%s", body[:len(body)-3])
		case wrong && fault == "exchanges" && len(other.queue) > 0:
			last := len(other.queue) - 1
			before := other.queue[last]
			other.queue = other.queue[:last]
			other.send("%s", body)
			other.queue = append(other.queue, before)
		default:
			other.send("%s", body)
		}
	}
}

// keep writes a line to the log, whole or not at all.
func keep(body string, wrong bool) error {
	line := time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + body + "\n"
	switch {
	case wrong && fault == "log-loses":
		return nil
	case wrong && fault == "log-doubles":
		line += line
	case wrong && fault == "log-tears":
		line = line[:len(line)-4] + "\n"
	case wrong && fault == "log-breaks":
		line = "broken\n" + line
	case fault == "acknowledges-early":
		if late = append(late, line...); len(late) < 4000 {
			return nil
		}
		line, late = string(late), nil
	}
	n, err := log.WriteString(line)
	if err != nil {
		if fault != "fills-torn" {
			_ = log.Truncate(size)
		}
		return err
	}
	size += int64(n)
	return nil
}
