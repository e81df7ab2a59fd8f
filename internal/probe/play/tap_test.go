package play

import (
	"strings"
	"testing"

	"interleave/internal/probe/faulty"
	"interleave/internal/probe/toolchain"
)

// TestTap has clients ping the host behind a tap and connect to both of its ports.
func TestTap(t *testing.T) {
	faulty.NeedPing(t)
	for _, c := range []struct{ fault, steps, want string }{
		{"good", "ping 0\nping 56 times 20\nping 1472 times 3\nping 8000\n", ""},
		{"good", "dial a\na send pattern 1MiB\na shut\na eof\n", ""},
		{"good", "dial c*20 port+1\nc recv rising 100KiB\nc reset\nserver terminates\n", ""},
		{"wrong", "dial a port+1\na recv rising 5000 by 1000\n", "after 4000 right bytes"},
		{"deaf", "limit 30s\nping 56 times 2\n", "0 of 2 echo requests of 56 bytes were answered"},
		{"deaf", "limit 1s\nping 56 times 2000\n", "ping does not end"},
	} {
		err := playFor(t.Context(), parse(t, "test.txt", c.steps),
			func() *toolchain.Built { return faulty.Host(t, c.fault) }, c.want)
		if c.want == "" && err != nil || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %q: got %v, want %q", c.fault, c.steps, err, c.want)
		}
	}
}
