package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Programs that end by themselves.
func TestOutput(t *testing.T) {
	for name, want := range map[string]string{
		"hello":    "hello, world\n",
		"fib":      "75025\n",
		"sort":     "200000 sorted\n",
		"transfer": "-5 5\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, example(t, name), "EVE_WORKERS=2")
			p.mustExit(0)
			if got := p.out.String(); got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		})
	}
}

// The messages of each of 50 clients reach all of them, those of one client in its order.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	const clients, messages, size = 50, 20, 8
	p := start(t, example(t, "broadcast"))
	port := p.port()
	all := make([]peer, clients)
	for i := range all {
		all[i] = p.dial(port)
		all[i].say(fmt.Sprintf("c%02d-in..", i))
		for j := range i + 1 { // so that the next client knows that all before it are registered
			all[j].mustHear(fmt.Sprintf("c%02d-in..", i))
		}
	}
	var wait sync.WaitGroup
	heard := make([]string, clients)
	for i, c := range all {
		wait.Go(func() {
			buffer := bufio.NewWriterSize(c, size)
			for m := range messages {
				fmt.Fprintf(buffer, "c%02d-m%02d.", i, m)
				buffer.Flush()
			}
		})
		wait.Go(func() {
			got := make([]byte, clients*messages*size)
			for have := 0; have < len(got); {
				n, err := c.Read(got[have:])
				if have += n; err != nil {
					break
				}
			}
			heard[i] = string(got)
		})
	}
	wait.Wait()
	for i, text := range heard {
		next := make([]int, clients)
		for at := 0; at < len(text); at += size {
			var from, m int
			if _, err := fmt.Sscanf(text[at:at+size], "c%02d-m%02d.", &from, &m); err != nil ||
				m != next[from] {
				t.Fatalf("client %d: at %d it heard %q, want message %d of %d", i, at,
					text[at:at+size], next[from], from)
			}
			next[from]++
		}
	}
}

// Replies come in the order of the requests, and each increment counts once.
func TestCounter(t *testing.T) {
	t.Parallel()
	const clients, requests = 8, 500
	p := start(t, example(t, "counter"))
	port := p.port()
	var wait sync.WaitGroup
	var mu sync.Mutex
	var increments []int
	for i := range clients {
		c := p.dial(port)
		wait.Go(func() {
			ops := strings.Repeat("\x01\x00\x01", requests/3)
			go c.Write([]byte(ops))
			lines, last := bufio.NewScanner(c), 0
			var mine []int
			for at, op := range ops {
				if !lines.Scan() {
					t.Errorf("client %d: the end after %d replies: %v", i, at, lines.Err())
					return
				}
				n, err := strconv.Atoi(lines.Text())
				if err != nil || n < last || op == 1 && n == last {
					t.Errorf("client %d: reply %d is %q after %d", i, at, lines.Text(), last)
					return
				}
				if last = n; op == 1 {
					mine = append(mine, n)
				}
			}
			mu.Lock()
			increments = append(increments, mine...)
			mu.Unlock()
		})
	}
	wait.Wait()
	slices.Sort(increments)
	if len(increments) != clients*(requests/3)*2 {
		t.Fatalf("%d increments were answered", len(increments))
	}
	for i, n := range increments {
		if n != i+1 {
			t.Fatalf("increment %d was answered with %d", i+1, n)
		}
	}
}

// A client joins by its first line, and chats with those of its room only.
func TestRooms(t *testing.T) {
	t.Parallel()
	p := start(t, example(t, "rooms"))
	port := p.port()
	enter := func(room, name string) peer {
		c := p.dial(port)
		c.say(room + "\n" + name)
		c.say("\n")
		c.mustHear(name)
		return c
	}
	red := []peer{enter("red", "r0")}
	blue := []peer{enter("blue", "b0")}
	for i := 1; i < 5; i++ {
		red = append(red, enter("red", fmt.Sprintf("r%d", i)))
		blue = append(blue, enter("blue", fmt.Sprintf("b%d", i)))
		for j := range i {
			red[j].mustHear(fmt.Sprintf("r%d", i))
			blue[j].mustHear(fmt.Sprintf("b%d", i))
		}
	}
	red[2].say("stop\r\n")
	blue[3].say("go\n")
	for i := range red {
		red[i].mustHear("stop")
		blue[i].mustHear("go")
	}
	red[0].Close()
	blue[0].say("x\n")
	for _, c := range blue {
		c.mustHear("x")
	}
	red[1].say("y\n")
	for _, c := range red[1:] {
		c.mustHear("y")
	}
}

// One message goes to all clients each tick.
func TestTicker(t *testing.T) {
	t.Parallel()
	p := start(t, example(t, "ticker"))
	port := p.port()
	var wait sync.WaitGroup
	streams := make([][]string, 20)
	for i := range streams {
		c := p.dial(port)
		wait.Go(func() {
			for lines := bufio.NewScanner(c); len(streams[i]) < 6 && lines.Scan(); lines.Scan() {
				streams[i] = append(streams[i], lines.Text())
			}
		})
	}
	wait.Wait()
	seen := slices.Concat(streams...)
	slices.Sort(seen)
	last := ""
	for _, s := range streams {
		if len(s) != 6 || !strings.HasPrefix(s[0], "data: 2") || !slices.IsSorted(s) {
			t.Fatalf("heard %q", s)
		}
		last = max(last, s[0])
	}
	for _, s := range streams { // all clients that were there when the last came got the same
		if !slices.Contains(s, last) {
			t.Errorf("%q lacks %q", s, last)
		}
	}
}

// The handler of the signal counts the ticks before it. The clock goes on while the signal is under
// way, so there may be more than two; and a tick that was waiting for the handler comes behind it.
func TestSignal(t *testing.T) {
	t.Parallel()
	text := strings.Replace(exampleText(t, "signal"), "n == 10", "n == 1_000_000", 1)
	p := start(t, compiled(t, "signal.eve", text))
	p.eventually("it ticks", func() bool { return strings.Contains(p.out.String(), "tick 2\n") })
	p.signal(syscall.SIGINT)
	p.mustExit(0)
	ticks, ends := 0, 0
	for line := range strings.Lines(p.out.String()) {
		switch line {
		case fmt.Sprintf("tick %d\n", ticks+1):
			ticks++
		case fmt.Sprintf("bye after %d\n", ticks):
			ends++
		default:
			ends = -1
		}
	}
	if ticks < 2 || ends != 1 {
		t.Errorf("printed %q, want the ticks in order, and one end that counts those before it",
			p.out.String())
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	p := start(t, example(t, "echo"))
	port := p.port()
	var wait sync.WaitGroup
	for i := range 20 {
		c := p.dial(port)
		wait.Go(func() {
			text := strings.Repeat(fmt.Sprintf("client %d ", i), 10000)
			go func() {
				c.Write([]byte(text))
				c.CloseWrite()
			}()
			if got, err := io.ReadAll(c); err != nil || string(got) != text {
				t.Errorf("client %d: %d of %d bytes came back right or wrong: %v", i, len(got),
					len(text), err)
			}
		})
	}
	wait.Wait()
	p.signal(syscall.SIGTERM)
	<-p.ended
	if p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, want the signal: nobody handles it", p.cmd.ProcessState)
	}
}

// A task that becomes ready while the other worker sleeps starts there, though the worker that
// made it ready goes on. On a machine with a free processor it takes 5 to 25 us, the 99th
// percentile 30 to 45. That is logged, not tested.
func TestWake(t *testing.T) {
	t.Parallel()
	p := start(t, example(t, "wake"), "EVE_WORKERS=2", "EVE_BUDGET=0")
	p.mustExit(0)
	t.Log(p.out.String())
	if !strings.HasPrefix(p.out.String(), "100 met, ") {
		t.Errorf("printed %q, want that all of 100 tasks began while their handler ran",
			p.out.String())
	}
}
