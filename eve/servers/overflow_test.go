package servers_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A source of numbered lines, which stops at `overflow` and goes on at `drained`.
const numbers = `import io.socket.*
type more:
type source: emitter<more>
    next: int
    held: bool
    over: bool
    again: [+self] (self) void: emit more()
serve: (client: socket@, limit: int) void:
    s: source@
    on s more [+s, +client]:
        if s.held || s.over: return
        text: bytes
        for (i in 0..256):
            text.append_text(f"{s.next:015}\n")
            s.next += 1
        client.write_buffer(text)
        s.again()
    on client overflow [+s, +stdout]:
        assert !s.held, "overflow twice"
        s.held = true
        print("overflow\n")
        stdout.flush()
    on client drained [+s, +stdout]:
        assert s.held, "drained before overflow"
        s.held = false
        print("drained\n")
        stdout.flush()
        if !s.over: s.again()
    on client line [+s, =limit]:
        if line.text == "go":
            client.limit(limit)
            s.again()
        if line.text == "stop" && !s.over:
            s.over = true
            client.write("end of %d\n", s.next)
            client.close()
    on client error [+stdout]: print("%s\n", error)
    on client close [+s]: s.over = true
main: () void:
    args: vector<string> = process.args()
    limit: int = args[0].to_int() else 0
    tcp_socket.listen(8080):
        connection = [=limit] (c: connection&) void: serve(c(), limit)
    on process.signals terminate: process.shutdown(600s)
`

// A client that stops reading, reads until all has drained, and stops again: twenty times, and no
// byte is lost, whatever the limit. Each of the two events comes once each time, in their order.
func TestOverflowAndDrained(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		for _, limit := range []int{0, 1, 3000, 64 << 10} {
			t.Run(fmt.Sprintf("%s-%d", reactor, limit), func(t *testing.T) {
				t.Parallel()
				needReactor(t, reactor)
				exe := compiled(t, "numbers.eve", numbers)
				p := startWith(t, []string{exe, strconv.Itoa(limit)}, "EVE_IO="+reactor,
					"EVE_WORKERS=2", "ASAN_OPTIONS=atexit=1")
				// With the large segments of loopback, the kernel holds 2.8 MB instead of 50 KB.
				client := p.dialBy(net.Dialer{Control: narrow}, p.port())
				lines := bufio.NewReaderSize(client, 64<<10)
				read := func() []byte {
					line, err := lines.ReadSlice('\n')
					if err != nil {
						t.Fatalf("%v; the server said %q", err, head(p.out.String()))
					}
					return line
				}
				next, want := 0, []byte("000000000000000\n")
				count := func(event string) int { return strings.Count(p.out.String(), event+"\n") }
				client.say("go\n")
				for range 20 {
					client.SetDeadline(time.Now().Add(patience))
					p.eventually("it overflows",
						func() bool { return count("overflow") > count("drained") })
					for stopped := count("overflow"); count("drained") < stopped; {
						for range 1024 {
							if line := read(); !bytes.Equal(line, want) {
								t.Fatalf("line %d is %q", next, line)
							}
							next++
							countUp(want)
						}
					}
				}
				client.say("stop\n")
				for ; ; next++ {
					line := read()
					if !bytes.Equal(line, want) {
						if last := fmt.Sprintf("end of %d\n", next); string(line) != last {
							t.Errorf("heard %q, want %q", line, last)
						}
						break
					}
					countUp(want)
				}
				client.mustEnd()
				p.mustEndClean()
				if said := strings.ReplaceAll(p.out.String(), "overflow\ndrained\n",
					""); said != "" && said != "overflow\n" {
					t.Errorf("it printed %q besides", said)
				}
			})
		}
	}
}

// countUp makes the next number from a line of digits.
func countUp(line []byte) {
	for i := len(line) - 2; i >= 0; i-- {
		if line[i]++; line[i] <= '9' {
			return
		}
		line[i] = '0'
	}
}

// A peer that sends nothing for long gets keepalive probes: else a peer that vanished would be
// kept for ever.
func TestSilentPeersAreWatched(t *testing.T) {
	t.Parallel()
	p := start(t, example(t, "echo"))
	port := p.port()
	c := p.dial(port)
	c.say("hello")
	c.mustHear("hello")
	client := c.LocalAddr().(*net.TCPAddr).Port
	p.eventually("its keepalive timer runs, for at most 60 s", func() bool {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) < 6 || !strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) ||
				!strings.HasSuffix(f[2], fmt.Sprintf(":%04X", client)) {
				continue
			}
			kind, left, _ := strings.Cut(f[5], ":")
			ticks, err := strconv.ParseInt(left, 16, 64) // of 10 ms
			return kind == "02" && err == nil && ticks <= 6000
		}
		return false
	})
}
