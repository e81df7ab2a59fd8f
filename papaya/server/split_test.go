package server

import (
	"strings"
	"testing"
)

// show formats lines for comparison.
func show(lines []line) string {
	var out []string
	for _, l := range lines {
		switch l.fault {
		case tooLong:
			out = append(out, "<long>")
		case hasNUL:
			out = append(out, "<nul>")
		default:
			out = append(out, l.Message.String())
		}
	}
	return strings.Join(out, "|")
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", ""}, {"PING 1\r\n", "PING 1"}, {"PING 1\nPING 2\r\n\r\n\n", "PING 1|PING 2"},
		{"PING", ""},
		{"a\x00b\n", "<nul>"}, {"x\ry\n", "X y"}, {"@a=b x\n", "@a=b X"}, {": \n", ""},
		{"X " + strings.Repeat("y", 508) + "\r\n", "X " + strings.Repeat("y", 508)},
		{"X " + strings.Repeat("y", 509) + "\r\n", "<long>"},
		{"@" + strings.Repeat("t", 4094) + " X\n", "@" + strings.Repeat("t", 4094) + " X"},
		{"@" + strings.Repeat("t", 4095) + " X\n", "<long>"},
		{strings.Repeat("z", 20000) + "\nPING 1\n", "<long>|PING 1"},
	} {
		var whole, bytewise splitter
		if got := show(whole.split([]byte(c.data), nil)); got != c.want {
			t.Errorf("%.40q: got %.80q, want %.80q", c.data, got, c.want)
		}
		var lines []line
		for i := range len(c.data) {
			lines = bytewise.split([]byte{c.data[i]}, lines)
		}
		if got := show(lines); got != c.want {
			t.Errorf("%.40q byte by byte: got %.80q, want %.80q", c.data, got, c.want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("NICK ann\r\nUSER ann 0 * :Ann\n@a=b PING \x00\n"), 3)
	f.Add([]byte(strings.Repeat("x", 6000)+"\nPING 1\n"), 511)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if n < 1 {
			return
		}
		var whole, parts splitter
		want := show(whole.split(data, nil))
		var lines []line
		for rest := data; len(rest) > 0; {
			k := min(n, len(rest))
			lines = parts.split(rest[:k], lines)
			rest = rest[k:]
			if len(parts.rest) > maxWhole {
				t.Fatalf("%d bytes are held", len(parts.rest))
			}
		}
		if got := show(lines); got != want {
			t.Fatalf("%q by %d: %q, want %q", data, n, got, want)
		}
	})
}
