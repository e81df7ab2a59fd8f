package servers_test

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// redis starts the page's program.
func redis(t *testing.T, settings ...string) *process {
	t.Helper()
	return startWith(t, []string{page(t, "redis"), "0"}, settings...)
}

// line returns the next line of a reply, with its end.
func (c peer) line() string {
	c.t.Helper()
	var line strings.Builder
	for {
		b := c.hear(1)
		line.WriteString(b)
		if b == "\n" || b == "" {
			return line.String()
		}
	}
}

// The replies of the page's Redis, as RESP has them. Each line is sent as a person types it.
func TestPageOfRedis(t *testing.T) {
	t.Parallel()
	p := redis(t)
	c := p.dial(p.port())
	for _, step := range []struct{ say, want string }{
		{"ping", "+PONG"}, {"PING x", "$1\r\nx"}, {"echo hello", "$5\r\nhello"},
		{"get a", "$-1"}, {"set a 1", "+OK"}, {"get a", "$1\r\n1"},
		{"incr a", ":2"}, {"incrby a 40", ":42"}, {"decr a", ":41"}, {"decrby a 1", ":40"},
		{"incr new", ":1"}, {"set a x", "+OK"},
		{"incr a", "-ERR value is not an integer or out of range"},
		{"incrby new x", "-ERR value is not an integer or out of range"},
		{"append a yz", ":3"}, {"strlen a", ":3"}, {"strlen none", ":0"},
		{"set a 1 nx", "$-1"}, {"set b 1 nx", "+OK"}, {"set z 1 xx", "$-1"}, {"set b 2 xx", "+OK"},
		{"set b 2 nx xx", "-ERR syntax error"}, {"set b 2 ex", "-ERR syntax error"},
		{"set b 2 ex 0", "-ERR value is not an integer or out of range"},
		{"set b 2 ex 99999999999999999999", "-ERR value is not an integer or out of range"},
		{"mset k 1 l 2", "+OK"}, {"mset k", "-ERR wrong number of arguments for 'mset' command"},
		{"mget k none l", "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n2"},
		{"exists k l none k", ":3"}, {"del k none l", ":2"}, {"exists k", ":0"},
		{"dbsize", ":3"}, {"ttl a", ":-1"}, {"ttl none", ":-2"}, {"expire a 1000", ":1"},
		{"expire none 10", ":0"}, {"persist a", ":1"}, {"persist a", ":0"},
		{"ttl a", ":-1"}, {"publish nowhere x", ":0"}, {"select 0", "+OK"},
		{"select 1", "-ERR DB index is out of range"}, {"config get save", "*0"},
		{"get", "-ERR wrong number of arguments for 'get' command"},
		{"nonsense", "-ERR unknown command 'nonsense'"}, {"flushall", "+OK"}, {"dbsize", ":0"},
		{"", ""},
	} {
		if step.say == "" { // an empty line is no command
			c.say("\r\n")
			continue
		}
		c.say(step.say + "\r\n")
		c.mustHear(step.want + "\r\n")
	}
	c.say("set long x ex 1000000\r\nttl long\r\n")
	c.mustHear("+OK\r\n:")
	var left int
	if _, err := fmt.Sscan(c.line(), &left); err != nil || left > 1_000_000 ||
		left < 1_000_000-int(patience.Seconds()) {
		t.Errorf("%d s are left of a million, %v", left, err)
	}
	c.say("set short x px 30\r\n")
	c.mustHear("+OK\r\n")
	for end := time.Now().Add(patience); ; {
		c.say("get short\r\n")
		if got := c.hear(4); got == "$1\r\n" {
			c.mustHear("x\r\n")
		} else if c.mustHear("\n"); got == "$-1\r" {
			break
		} else {
			t.Fatalf("got %q", got)
		}
		if time.Now().After(end) {
			t.Fatal("a key does not end")
		}
	}
	c.say("quit\r\n")
	c.mustHear("+OK\r\n")
	c.mustEnd()
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// Words have any bytes, commands come in any pieces, and many at once; what is none ends the
// connection.
func TestPageOfRedisWire(t *testing.T) {
	t.Parallel()
	p := redis(t)
	port := p.port()
	c := p.dial(port)
	large := strings.Repeat("x\r\n\x00", 50_000)
	set := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", len(large), large)
	go c.Write([]byte(set + "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"))
	c.mustHear(fmt.Sprintf("+OK\r\n$%d\r\n%s\r\n", len(large), large))
	for _, b := range []byte("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nping\r\n") {
		c.say(string(b))
	}
	c.mustHear("+PONG\r\n+PONG\r\n")
	// replies come in the order of the commands, whatever these need
	c.say(strings.Repeat("incr n\r\nget n\r\npublish x y\r\nping\r\n", 100))
	for i := range 100 {
		n := fmt.Sprint(i + 1)
		c.mustHear(fmt.Sprintf(":%s\r\n$%d\r\n%s\r\n:0\r\n+PONG\r\n", n, len(n), n))
	}
	for wrong, want := range map[string]string{
		"*x\r\n":                           "invalid length",
		"*-1\r\n":                          "invalid length",
		"*9999999\r\n":                     "invalid length",
		"*1\r\nPING\r\n":                   "expected '$'",
		"*1\r\n$-1\r\n":                    "invalid length",
		"*1\r\n$99999999\r\n":              "invalid length",
		strings.Repeat("x", 65<<10):        "too long a line",
		"*1\r\n$4\r\nPING\r\n*2\r\n$?\r\n": "invalid length",
	} {
		said := strings.TrimPrefix(asked(t, p, port, wrong), "+PONG\r\n")
		if !strings.HasPrefix(said, "-ERR Protocol error: ") || !strings.Contains(said, want) ||
			strings.Count(said, "\n") != 1 {
			t.Errorf("%.20q: got %q, want %q", wrong, said, want)
		}
	}
	c.say("get n\r\n")
	c.mustHear("$3\r\n100\r\n")
}

// Increments of many clients count once each, and who listens to a channel hears all that is said
// there, in order.
func TestPageOfRedisTogether(t *testing.T) {
	t.Parallel()
	const clients, each = 8, 200
	p := redis(t, "EVE_WORKERS=2")
	port := p.port()
	listener := p.dial(port)
	listener.say("subscribe news other\r\n")
	listener.mustHear("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n" +
		"*3\r\n$9\r\nsubscribe\r\n$5\r\nother\r\n:2\r\n")
	var wait sync.WaitGroup
	for range clients {
		c := p.dial(port)
		wait.Go(func() {
			for range each {
				c.say("incr n\r\n")
				if line := c.line(); !strings.HasPrefix(line, ":") {
					t.Errorf("got %q", line)
					return
				}
			}
		})
	}
	speaker := p.dial(port)
	for i := range each {
		speaker.say(fmt.Sprintf("publish news %03d\r\n", i))
		speaker.mustHear(":1\r\n")
	}
	for i := range each {
		listener.mustHear(fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\n%03d\r\n", i))
	}
	wait.Wait()
	speaker.say("get n\r\n")
	speaker.mustHear(fmt.Sprintf("$4\r\n%d\r\n", clients*each))
	listener.Close()
	for end := time.Now().Add(patience); ; {
		speaker.say("publish news x\r\n")
		if line := speaker.line(); line == ":0\r\n" {
			break
		} else if line != ":1\r\n" || time.Now().After(end) {
			t.Fatalf("a listener that has gone: got %q", line)
		}
	}
}

// Redis' own clients.
func TestPageOfRedisClients(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"redis-cli", "redis-benchmark"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIP: install redis-tools for the page of a small Redis with its clients")
		}
	}
	p := redis(t)
	port := fmt.Sprint(p.port())
	run := func(words ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), words[0], append([]string{"-p", port},
			words[1:]...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", words, err, out)
		}
		return string(out)
	}
	if got := run("redis-cli", "set", "kettle", "on", "ex", "60"); got != "OK\n" {
		t.Errorf("redis-cli set: %q", got)
	}
	if got := run("redis-cli", "get", "kettle"); got != "on\n" {
		t.Errorf("redis-cli get: %q", got)
	}
	out := run("redis-benchmark", "-t", "ping,set,get,incr,mset", "-n", "2000", "-c", "20", "-P",
		"8", "-r", "100", "--csv")
	for _, test := range []string{"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET"} {
		if !strings.Contains(out, fmt.Sprintf("%q", test)) && !strings.Contains(out, "\""+test) {
			t.Errorf("redis-benchmark says nothing of %s:\n%s", test, out)
		}
	}
	if strings.Contains(out, "rror") {
		t.Errorf("redis-benchmark:\n%s", out)
	}
}
