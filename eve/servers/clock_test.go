package servers_test

import (
	"fmt"
	"testing"
)

// A server whose clients choose by a line what their clocks do, and that answers behind their end.
// With an argument its clients have a clock and nothing else.
const clocks = `import io.socket.*
spend: (d: duration) void:
    since: duration = clock()
    turns: int = 0
    while clock() - since < d: turns += 1
# Every tick is told, by one event or another.
count: [+client] (client: socket@, most: int) void:
    told: int@
    client.off()
    client.every(1ms)
    on client fired [+told, =most]:
        told += fired.count
        assert told == fired.number, "ticks are missing"
        spend(3ms)
        if fired.number >= most:
            client.every(0s)
            client.off()
            serve(client)
            client.write("counted\n")
# Behind a handler that takes long, ticks are due, and another clock begins.
restart: [+client] (client: socket@) void:
    spend(20ms)
    client.off()
    client.every(1h)
    on client fired: client.write("a tick of before\n")
    on client line: client.write("fresh\n")
lonely: (client: socket@) void:
    @ [+client]: client.every(1ms)
    on client fired:
        client.write("tick %d\n", fired.number)
        if fired.number >= 3:
            client.close()
            client.every(1ms)
serve: (client: socket@) void:
    on client line:
        if line.text == "count": count(client, 20)
        else if line.text == "tick":
            client.every(1ms)
            on client fired: pass
        else if line.text == "restart": restart(client)
        else:
            if line.text == "bye": client.off()
            client.write("%s\n", line.text)
    on client ended:
        client.write("ended\n")
        _ <- sleep(2ms) [+client]
        client.write("at last\n")
        client.close()
main: () void:
    alone: bool = process.args()[0] == "alone"
    tcp_socket.listen(8080):
        connection = [=alone] (c: connection&) void:
            if alone: lonely(c())
            else: serve(c())
    on process.signals terminate: process.shutdown(600s)
`

// A socket's clock tells each tick once, can be set anew at any moment, and ends.
func TestClock(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "clocks.eve", withEnd(clocks))
	eachReactor(t, func(t *testing.T, reactor string) {
		for _, workers := range []string{"1", "2"} {
			t.Run(workers, func(t *testing.T) {
				t.Parallel()
				p := startServer(t, exe, reactor, "EVE_WORKERS="+workers)
				port := p.port()
				a, b := p.dial(port), p.dial(port)
				a.say("count\n")
				a.mustHear("counted\n")
				a.say("still here\n") // and no tick before it
				a.mustHear("still here\n")
				for range 5 {
					a.say("count\n")
					a.mustHear("counted\n")
					b.say("tick\nhello\n")
					b.mustHear("hello\n")
				}
				b.say("restart\nany\n")
				b.mustHear("fresh\n")
				a.CloseWrite()
				a.mustHear("ended\nat last\n")
				a.mustEnd()
				b.Close() // with its clock running
				p.mustEndClean()
			})
		}
	})
}

// A socket that nothing but its clock uses stays open, and its last tick is before its end.
func TestClockAlone(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "clocks.eve", withEnd(clocks))
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startWith(t, []string{exe, "alone"}, "EVE_IO="+reactor, "EVE_WORKERS=2",
			"ASAN_OPTIONS=atexit=1")
		port := p.port()
		for range 20 {
			client := p.dial(port)
			for last := 0; last < 3; {
				line := readLine(client)
				was := last
				if _, err := fmt.Sscanf(line, "tick %d", &last); err != nil || last <= was {
					t.Fatalf("heard %q behind tick %d", line, was)
				}
			}
			client.mustEnd()
		}
		p.mustEndClean()
	})
}

// The handler of `ended` runs when all input was handled, and the socket is open to answer then.
// Without it, and when the process shuts down, the socket closes.
func TestEnded(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "clocks.eve", withEnd(clocks))
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startServer(t, exe, reactor)
		port := p.port()
		for range 20 {
			client := p.dial(port)
			client.say("one\ntwo")
			client.CloseWrite()
			client.mustHear("one\ntwo\nended\nat last\n")
			client.mustEnd()
			without := p.dial(port)
			without.say("bye\n")
			without.CloseWrite()
			without.mustHear("bye\n")
			without.mustEnd()
		}
		gone := p.dial(port)
		gone.say("one\n")
		gone.mustHear("one\n")
		idle := p.dial(port)
		idle.say("two\n")
		idle.mustHear("two\n")
		gone.CloseWrite()
		p.mustEndClean()
	})
}
