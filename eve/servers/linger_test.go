package servers_test

import (
	"io"
	"net"
	"strings"
	"testing"
)

// A server that replies to the first input with 128 KiB, and closes.
const closer = `import io.socket.*
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) void:
            client: socket@ = c()
            on client data:
                if !client.read_buffer().empty():
                    client.write_buffer("0123456789abcdef".repeat(8192).bytes())
                    client.close()
            on client close [+stdout]:
                print("closed\n")
                stdout.flush()
    on process.signals terminate: process.shutdown(600s)
`

// A client that sends more when the server has closed still gets all that the server has sent. The
// kernel would answer to its input by a reset otherwise, and drop what it has not acknowledged.
func TestCloseLosesNothing(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "closer.eve", closer)
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startServer(t, exe, reactor)
		port := p.port()
		before, clients := p.descriptors(), 0
		p.eventually("a client gets all", func() bool {
			client := p.dialBy(net.Dialer{Control: littleRoom}, port)
			defer client.Close()
			client.say("please")
			clients++
			p.eventually("the server has closed, and rests", func() bool {
				return strings.Count(p.out.String(), "closed\n") == clients &&
					asleep(p.cmd.Process.Pid)
			})
			for range 3 {
				if _, err := client.Write([]byte("more")); err != nil {
					return false // on a busy machine this client came too late
				}
			}
			all, err := io.ReadAll(client)
			return err == nil && len(all) == 128<<10
		})
		p.eventually("no connection is left", func() bool { return p.descriptors() <= before })
		p.mustEndClean()
	})
}

// A client that goes on sending is cut off all the same.
func TestCloseEnds(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "closer.eve", closer)
	eachReactor(t, func(t *testing.T, reactor string) {
		p := startServer(t, exe, reactor)
		port := p.port()
		before := p.descriptors()
		flood, silent := p.dial(port), p.dial(port)
		silent.say("please")
		block := make([]byte, 1<<16)
		for {
			if _, err := flood.Write(block); err != nil {
				break
			}
		}
		p.eventually("no connection is left", func() bool { return p.descriptors() <= before })
		p.mustEndClean()
	})
}
