package servers_test

import (
	"io"
	"strings"
	"testing"
)

// A server whose handlers fail in all ways.
const failing = `import io.socket.*
total: int@ = 0
deep: (n: int) int:
    if n < 0: return 0
    return deep(n + 1) + n
spin: (n: int) int:
    i: int = n
    while i >= 0: i = i ^ 1
    return i
divide: (n: int) int:
    a, b: int@
    finish:
        @ [+a, =n]: a = 1 / n
        @ [+b]: b = 2
    return a + b
main: [] () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client close [+stdout]: stdout.write("closed\n")
            on client error [+stdout]: stdout.write("%s\n", error)
            on client line:
                defer client.write("deferred\n")
                v: vector<int> = [1, 2]
                what: string = line.text
                if what == "index": client.write("%d\n", v[what.size()])
                if what == "assert": assert v.size() == 3, "sizes"
                if what == "fail": fail f"because of {what}"
                if what == "spin": client.write("%d\n", spin(3))
                if what == "deep": client.write("%d\n", deep(1))
                if what == "child": client.write("%d\n", divide(0))
                if what == "outside":
                    @ [+client, +total]:
                        total += 1
                        fail "in a task with total"
                if what == "cancel":
                    t: duration = clock()
                    n: int@
                    finish:
                        @: fail "first"
                        @ [+n, =t]:
                            while !cancelled() && clock() - t < 600s: n += 1
                client.write("fine\n")
            return true
`

// A handler that fails ends its own client, after its deferred blocks, and nothing else.
func TestContainedFailures(t *testing.T) {
	t.Parallel()
	p := start(t, compiled(t, "failing.eve", failing), "EVE_BUDGET=1", "EVE_WORKERS=2")
	port := p.port()
	other := p.dial(port)
	want := ""
	for _, c := range []struct{ what, error string }{
		{"index", "failing.eve:26: index 5 is out of range: there are 2 elements"},
		{"assert", "failing.eve:27: assertion failed: v.size() == 3: sizes"},
		{"fail", "failing.eve:28: because of fail"},
		{"spin", "failing.eve:8: the time budget of the task is used up"},
		{"child", "failing.eve:13: division by zero"},
	} {
		client := p.dial(port)
		client.say(c.what + "\n")
		if got, err := io.ReadAll(client); err != nil || string(got) != "deferred\n" {
			t.Fatalf("%s: heard %q, %v, want what was deferred, and the end", c.what, got, err)
		}
		want += c.error + "\nclosed\n"
		p.eventually("it says "+c.error, func() bool { return p.out.String() == want })
	}
	other.say("hello\n")
	other.mustHear("fine\ndeferred\n")
}

// The child that runs beside a failing one is cancelled, whichever of them the parent runs itself.
func TestCancelled(t *testing.T) {
	t.Parallel()
	p := start(t, compiled(t, "failing.eve", failing), "EVE_WORKERS=2", "EVE_BUDGET=0")
	client := p.dial(p.port())
	client.say("cancel\n")
	client.mustHear("deferred\n")
	client.mustEnd() // not cancelled, the other child would run on for ten minutes
	p.eventually("it says why",
		func() bool { return p.out.String() == "failing.eve:40: first\nclosed\n" })
}

// A failure that may have damaged a shared object ends the process, and the trace says where it
// began.
func TestFailuresThatEndTheProcess(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "failing.eve", failing)
	for what, want := range map[string]string{
		// two objects, in the order of their addresses
		"outside": "failing.eve:35: in a task with total\n    in the task of failing.eve:33\n   " +
			" it held ",
		"deep": "eve: stack overflow: a task calls itself too deeply\n",
	} {
		t.Run(what, func(t *testing.T) {
			if what == "deep" && *sanitize == "address" {
				t.Skip("this sanitizer has its own handler of overflows")
			}
			p := start(t, exe)
			client := p.dial(p.port())
			client.say(what + "\n")
			p.mustExit(1)
			if !strings.HasPrefix(p.err.String(), want) {
				t.Errorf("said %q, want %q", p.err.String(), want)
			}
		})
	}
}

// Output that was written before a stack overflow is not lost.
func TestOutputBeforeOverflow(t *testing.T) {
	t.Parallel()
	if *sanitize == "address" {
		t.Skip("this sanitizer has its own handler of overflows")
	}
	p := start(t, compiled(t, "deep.eve", `deep: (n: int) int:
    if n < 0: return 0
    return deep(n + 1) + 1
main: [+stdout] () void:
    stdout.write("before\n")
    stdout.write("%d\n", deep(0))
`))
	p.mustExit(1)
	if got := p.out.String(); got != "before\n" {
		t.Errorf("printed %q, want what was written before", got)
	}
	if got := p.err.String(); got != "eve: stack overflow: a task calls itself too deeply\n" {
		t.Errorf("said %q", got)
	}
}

// A connection that the network breaks emits `error` to its handlers, and close to all. Nothing is
// printed, since resets by peers are normal.
func TestBrokenConnectionIsNotPrinted(t *testing.T) {
	t.Parallel()
	p := start(t, compiled(t, "broken.eve", `import io.socket.*
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) void:
            client: socket@ = c()
            on client data: client.write_buffer(client.read_buffer())
            on client close [+stdout]:
                stdout.write("closed\n")
                stdout.flush()
`))
	port := p.port()
	for i := range 10 {
		client := p.dial(port)
		client.say("x")
		client.mustHear("x")
		client.SetLinger(0)
		client.Close()
		p.eventually("it hears the end",
			func() bool { return p.out.String() == strings.Repeat("closed\n", i+1) })
	}
	client := p.dial(port)
	client.say("y")
	client.mustHear("y")
	p.mustRun()
	if got := p.err.String(); got != "" {
		t.Errorf("said %q, want nothing", got)
	}
}
