package servers_test

import (
	"strings"
	"testing"
	"time"
)

// Handlers drop themselves in the middle of an event, with more events queued.
func TestOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"in its own handler": {job + `main: () void:
    j: job@
    n: int@
    on j poke [+j, +n, +stdout]:
        n += 1
        j.off()
        print("poke %d\n", n)
    on j prod [+stdout]: print("prod\n")
    @ [+j]:
        for (i in 0..5):
            j.go()
            j.go_on()
`, "poke 1\n"},
		"and another handler instead": {job + `main: () void:
    j: job@
    on j poke [+j, +stdout]:
        print("first\n")
        j.off()
        on j poke [+stdout]: print("second\n")
    @ [+j]:
        for (i in 0..4): j.go()
`, "first\nsecond\nsecond\nsecond\n"},
		"before handlers of the same event": {job + `main: () void:
    j: job@
    on j poke [+j, +stdout]:
        print("first\n")
        j.off()
    on j poke [+stdout]: print("never\n")
    @ [+j]: j.go()
`, "first\n"},
		"by somebody else": {job + `main: () void:
    j: job@
    on j poke [+stdout]: print("never\n")
    @ [+j]:
        for (i in 0..5): j.go()
        j.off()
`, ""},
		"a timer in its own handler": {`main: () void:
    t: timer@ = timer.every(1ms)
    on t fired [+t, +stdout]:
        since: duration = clock()
        turns: int = 0
        while clock() - since < 20ms: turns += 1
        t.stop()
        print("fired\n")
`, "fired\n"},
		"a timer of which a tick is queued": {`main: () void:
    n: int@
    t: timer@ = timer.every(1ms)
    on t fired [+t, +n]: n += 1
    @ [+t, -n]:
        since: duration = clock()
        turns: int = 0
        while clock() - since < 20ms: turns += 1
        t.stop()
        @ [n, +stdout]: print("%d\n", n)
`, "0\n"},
		"a timer twice": {`main: () void:
    t: timer@ = timer.after(1ms)
    on t fired [+t, +stdout]:
        t.stop()
        t.stop()
        print("fired\n")
`, "fired\n"},
		"two timers that know each other": {`main: () void:
    a: timer@ = timer.after(1ms)
    b: timer@ = timer.after(2ms)
    on a fired [-b, +stdout]: print("%v\n", same(b, b))
    on b fired [-a, +stdout]: print("%v\n", same(a, a))
`, "true\ntrue\n"},
		"timers that know each other when the process shuts down": {`main: () void:
    a: timer@ = timer.every(1ms)
    b: timer@ = timer.every(1ms)
    on a fired [-b, +stdout]:
        if same(b, b): process.shutdown(600s)
    on b fired [-a]: pass
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exe := compiled(t, "off.eve", c.text)
			for _, workers := range []string{"1", "2"} {
				p := start(t, exe, "EVE_WORKERS="+workers, "ASAN_OPTIONS=atexit=1")
				p.mustExit(0)
				p.mustBeClean()
				if got := p.out.String(); got != c.want {
					t.Errorf("%s workers: printed %q, want %q", workers, got, c.want)
				}
			}
		})
	}
}

// Lines that come while there is no handler for lines wait for the next one.
func TestLinesWaitForAHandler(t *testing.T) {
	t.Parallel()
	const text = `import io.socket.*
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client line:
                client.write("<%s>\n", line.text)
                client.off()
                _ <- sleep(5ms) [+client]
                client.write("later\n")
                on client line:
                    client.write("[%s]\n", line.text)
                    if line.text == "end": client.off()
            return true
    on process.signals terminate: process.shutdown(600s)
`
	p := start(t, compiled(t, "lines.eve", text), "EVE_WORKERS=2", "ASAN_OPTIONS=atexit=1")
	port := p.port()
	for range 20 {
		client := p.dial(port)
		client.say("one\ntwo\nthree\nend\nnobody\n")
		client.mustHear("<one>\nlater\n[two]\n[three]\n[end]\n")
		client.CloseWrite()
		client.mustEnd()
	}
	p.mustEndClean()
}

// An answer that comes after its time limit is dropped: the continuation runs once.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	const text = `import io.socket.*
extern "C" "meet.h":
    slow hold: (releases: int) int
    fast release: () int
    fast returned: () int
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client line:
                if line.text == "ask":
                    x <- hold(1) within 5ms [+client]
                    match x:
                        ok(n): client.write("answer %d\n", n)
                        error(e): client.write("%s\n", e.text())
                else if line.text == "release":
                    client.write("released %d\n", release())
                else if line.text == "again":
                    x <- hold(1) within 600s [+client]
                    match x:
                        ok(n): client.write("answer %d\n", n)
                        error(e): client.write("%s\n", e.text())
                else:
                    client.write("returned %d\n", returned())
            return true
    on process.signals terminate: process.shutdown(600s)
`
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			p := startServer(t, compiled(t, "late.eve", text), reactor)
			const asked = 20
			client := p.dial(p.port())
			client.say(strings.Repeat("ask\n", asked))
			client.mustHear(strings.Repeat("timeout\n", asked))
			client.say("release\n")
			client.mustHear("released 1\n")
			p.eventually("all late answers have come", func() bool {
				client.say("count\n")
				client.mustHear("returned ")
				return readLine(client) == "20"
			})
			client.say(strings.Repeat("again\n", asked)) // in time, behind the late ones
			client.mustHear(strings.Repeat("answer 1\n", asked))
			client.CloseWrite()
			client.mustEnd()
			p.mustEndClean()
		})
	}
}

// Answers that come about at their time limit are either in time or late, never both and never
// neither.
func TestAnswersAtTheLastMoment(t *testing.T) {
	t.Parallel()
	const text = `extern "C" "meet.h":
    slow nap: (microseconds: int) int
ask: (n: int, all: vector<int>@) void:
    x <- nap(1500 + n % 10 * 100) within 2ms [+all]
    match x:
        ok(late): all[0] += 1
        error(e): all[1] += 1
    y <- sleep(2ms) within 2ms [+all, +stdout]
    match y:
        ok: all[2] += 1
        error(e): all[3] += 1
    if all[2] + all[3] == 400:
        print("%d %d\n", all[0] + all[1], all[2] + all[3])
main: () void:
    all: vector<int>@ = [0, 0, 0, 0]
    for (n in 0..400): ask(n, all)
`
	for _, workers := range []string{"1", "2"} {
		p := start(t, compiled(t, "moment.eve", text), "EVE_WORKERS="+workers,
			"ASAN_OPTIONS=atexit=1")
		p.mustExit(0)
		p.mustBeClean()
		if got := p.out.String(); got != "400 400\n" {
			t.Errorf("%s workers: printed %q", workers, got)
		}
	}
}

// readLine reads the program's output up to the end of the line.
func readLine(c peer) string {
	text := ""
	for {
		one := c.hear(1)
		if one == "\n" {
			return text
		}
		text += one
	}
}

// The arguments of a call are freed when its answer has come, not when its time limit would have
// ended.
func TestAnswersInTimeLeaveNothing(t *testing.T) {
	t.Parallel()
	const text = `import io.socket.*
extern "C" "meet.h":
    slow first: (data: bytes) int
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client line:
                big: bytes
                big.resize(1000)
                x <- first(big) within 1h [+client]
                match x:
                    ok(n): client.write("%d\n", n)
                    error(e): client.write("%s\n", e.text())
            return true
    on process.signals terminate: process.shutdown(600s)
`
	p := startServer(t, compiled(t, "intime.eve", text), "epoll")
	client := p.dial(p.port())
	const batch = 100
	ask := func(times int) {
		for range times {
			client.SetDeadline(time.Now().Add(patience))
			client.say(strings.Repeat("ask\n", batch))
			client.mustHear(strings.Repeat("0\n", batch))
		}
	}
	ask(10)
	before := p.resident()
	ask(100)
	// kept, they would be 10 MB
	if grown := p.resident() - before; grown > 2000 && *sanitize == "" {
		t.Errorf("%d answers have left %d KiB", 100*batch, grown)
	}
	client.CloseWrite()
	client.mustEnd()
	p.mustEndClean()
}
