package servers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server in which a line may occupy its handler until another client releases it: `block` in a C
// function that waits, `compute` in a loop. So the release comes only if another worker serves the
// client that sends it. `later` answers by a timer, `nap N` computes for a while.
const occupied = `import io.socket.*
` + meeting + `compute: () int:
    turns: int = 0
    while opened() == 0: turns += 1
    return turns
reply_later: (client: socket@) void:
    t: timer@ = timer.after(1ms)
    on t fired [+client]: client.write("later\n")
spend: (d: duration) void:
    since: duration = clock()
    turns: int = 0
    while clock() - since < d: turns += 1
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client line:
                if line.text == "block": client.write("blocked %d\n", hold(1))
                else if line.text == "compute":
                    say_holding()
                    client.write("computed %v\n", compute() > 0)
                else if line.text == "release": client.write("released %d\n", release())
                else if line.text == "later": reply_later(client)
                else if line.text == "nap":
                    spend(300us)
                    client.write("nap\n")
                else if line.text == "sleep":
                    _ <- sleep(1ms) [+client]
                    client.write("slept\n")
                else: client.write("%s\n", line.text)
            return true
    on process.signals terminate: process.shutdown(600s)
`

// eachReactor runs a test with epoll, and with io_uring if it is available.
func eachReactor(t *testing.T, body func(t *testing.T, reactor string)) {
	t.Helper()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			body(t, reactor)
		})
	}
}

// While the handler of one client computes or blocks, an idle worker serves all others: those that
// came before, new ones, and their timers. The handler ends only when one of them has been served.
func TestBusy(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "occupied.eve", occupied)
	for what, end := range map[string]string{
		"block": "blocked 1\n", "compute": "computed true\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			eachReactor(t, func(t *testing.T, reactor string) {
				for _, workers := range []string{"2", "4", "2", "4"} { // chance says who is busy
					p := startServer(t, exe, reactor, "EVE_WORKERS="+workers, "EVE_BUDGET=0")
					serveBesideBusy(p, what, end)
				}
			})
		})
	}
}

func serveBesideBusy(p *process, what, end string) {
	p.t.Helper()
	port := p.port()
	busy := p.dial(port)
	var all []peer
	for i := range 8 { // on the loop of the busy worker, and on others
		all = append(all, p.dial(port))
		all[i].say("hello\n")
		all[i].mustHear("hello\n")
	}
	busy.say(what + "\n")
	p.mustHold(1)
	for range 3 {
		for _, c := range all {
			c.say("meanwhile\n")
		}
		for _, c := range all {
			c.mustHear("meanwhile\n")
		}
	}
	for _, c := range all[:4] {
		c.say("later\n")
		c.mustHear("later\n")
		c.say("sleep\n")
		c.mustHear("slept\n")
	}
	fresh := p.dial(port) // by whichever worker the listener is watched
	fresh.say("new\n")
	fresh.mustHear("new\n")
	all[0].CloseWrite()
	all[0].mustEnd()
	all[1].SetLinger(0)
	all[1].Close()
	p.mustRun()
	fresh.say("release\n")
	fresh.mustHear("released 1\n")
	busy.mustHear(end)
	busy.say("free\n")
	busy.mustHear("free\n")
	for _, c := range all[2:] {
		c.say("after\n")
		c.mustHear("after\n")
	}
	p.mustEndClean()
}

// Input for a client whose own handler is busy waits for it, and is then handled in order.
func TestBusyClientKeepsItsOrder(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "occupied.eve", occupied)
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startServer(t, exe, reactor, "EVE_BUDGET=0")
		port := p.port()
		busy, other := p.dial(port), p.dial(port)
		busy.say("block\none\n")
		p.mustHold(1)
		var want strings.Builder
		for i := range 2000 { // more than a handler takes at a time
			fmt.Fprintf(&want, "line %d\n", i)
		}
		busy.say(want.String()[:1000])
		other.say("hello\n")
		other.mustHear("hello\n")
		busy.say(want.String()[1000:])
		busy.CloseWrite()
		other.say("release\n")
		other.mustHear("released 1\n")
		busy.mustHear("blocked 1\none\n" + want.String())
		busy.mustEnd()
		p.mustEndClean()
	})
}

// A client that is reset while its own handler is busy is given up when the handler has ended, and
// a server that is told to end meanwhile waits for the handler.
func TestBusyClientLeaves(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "occupied.eve", occupied)
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startServer(t, exe, reactor, "EVE_BUDGET=0")
		port := p.port()
		before := p.descriptors()
		busy, other := p.dial(port), p.dial(port)
		other.say("hello\n")
		other.mustHear("hello\n")
		busy.say("block\nmore\n")
		p.mustHold(1)
		busy.SetLinger(0)
		busy.Close()
		other.say("still\n")
		other.mustHear("still\n")
		other.say("release\n")
		other.mustHear("released 1\n")
		p.eventually("the client that left is gone",
			func() bool { return p.descriptors() <= before+1 })
		p.mustEndClean()
	})
}

// Many handlers are long enough that pollers change hands all the time, under as many clients that
// come and go: no reply is lost or out of order, and nothing leaks.
func TestBusyChurn(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "occupied.eve", occupied)
	for _, workers := range []string{"2", "8"} {
		t.Run(workers+" workers", func(t *testing.T) {
			t.Parallel()
			eachReactor(t, func(t *testing.T, reactor string) {
				p := startServer(t, exe, reactor, "EVE_WORKERS="+workers)
				port := p.port()
				var all sync.WaitGroup
				for i := range 16 {
					all.Go(func() { churnBusy(t, port, i) })
				}
				all.Wait()
				p.mustEndClean()
			})
		})
	}
}

// churnBusy has ten connections, one after the other, each with a mixed conversation.
func churnBusy(t *testing.T, port, number int) {
	for round := range 10 {
		v := &visit{house: &house{port: port}, number: number}
		if err := v.come(false); err != nil {
			t.Errorf("client %d: %v", number, err)
			return
		}
		v.SetDeadline(time.Now().Add(patience))
		var say, want strings.Builder
		for i := range 20 {
			word := fmt.Sprintf("word-%d-%d", round, i)
			reply := word
			switch (number + i) % 5 {
			case 0:
				word, reply = "nap", "nap"
			case 1:
				// what is behind it may be answered before it
				if err := exchange(v, say.String()+"sleep\n", want.String()+"slept\n"); err != nil {
					t.Errorf("client %d: %v", number, err)
					return
				}
				say.Reset()
				want.Reset()
				continue
			}
			say.WriteString(word + "\n")
			want.WriteString(reply + "\n")
		}
		if err := exchange(v, say.String(), want.String()); err != nil {
			t.Errorf("client %d: %v", number, err)
			return
		}
		if number%3 == 0 {
			v.SetLinger(0)
		}
		v.Close()
	}
}

// A server whose clients rest is not scheduled at all: no thread wakes up, whether a client has
// just been served or a handler was long.
func TestRestCostsNothing(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "occupied.eve", occupied)
	for _, workers := range []string{"1", "2", "4"} {
		t.Run(workers+" workers", func(t *testing.T) {
			t.Parallel()
			eachReactor(t, func(t *testing.T, reactor string) {
				p := startServer(t, exe, reactor, "EVE_WORKERS="+workers)
				port := p.port()
				one, two := p.dial(port), p.dial(port)
				for range 3 {
					for _, c := range []peer{one, two} {
						c.say("nap\nhello\n")
						c.mustHear("nap\nhello\n")
					}
					p.mustRest()
				}
				p.mustEndClean()
			})
		})
	}
}

// A server that waits in one long handler, and serves the others, does not look around either.
func TestRestBesideBusy(t *testing.T) {
	t.Parallel()
	if *sanitize == "thread" {
		t.Skip("ThreadSanitizer delays the signals of a thread that waits in a system call")
	}
	exe := compiled(t, "occupied.eve", strings.Replace(occupied, "hold(1)", "hold_still()", 1))
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startServer(t, exe, reactor, "EVE_BUDGET=0")
		port := p.port()
		busy, one, two := p.dial(port), p.dial(port), p.dial(port)
		busy.say("block\n")
		p.mustHold(1)
		for _, c := range []peer{one, two} {
			c.say("hello\n")
			c.mustHear("hello\n")
		}
		p.mustRest()
		one.say("release\n")
		one.mustHear("released 1\n")
		busy.mustHear("blocked 1\n")
		p.mustRest()
		p.mustEndClean()
	})
}

// mustRest waits until no thread of the program is scheduled between ten looks. The runtime of
// ThreadSanitizer has a thread that wakes up by itself.
func (p *process) mustRest() {
	p.t.Helper()
	if *sanitize == "thread" {
		return
	}
	last, same := "", 0
	p.eventually("no thread wakes up any more", func() bool {
		time.Sleep(15 * time.Millisecond)
		now := p.switches()
		if same++; now != last {
			last, same = now, 0
		}
		return same == 10
	})
}

// switches lists how often each thread of the program went to sleep or was interrupted, proc(5).
func (p *process) switches() string {
	p.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		p.t.Fatalf("the program has no threads: %v", err)
	}
	var all strings.Builder
	for _, file := range threads {
		text, _ := os.ReadFile(file) // the thread may have ended
		_, counts, _ := strings.Cut(string(text), "voluntary_ctxt_switches")
		fmt.Fprintf(&all, "%s%s", file, counts)
	}
	return all.String()
}
