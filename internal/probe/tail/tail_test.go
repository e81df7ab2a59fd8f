package tail

import (
	"strings"
	"testing"
)

func TestBufferKeepsTheEnd(t *testing.T) {
	var small, big Buffer
	small.Write([]byte("one\ntwo\n"))
	if got, want := small.String(), "one\ntwo\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	line := []byte(strings.Repeat("x", 99) + "\n")
	for range 1000 {
		big.Write(line)
	}
	big.Write([]byte("last"))
	if got := big.String(); len(got) > Bytes || !strings.HasSuffix(got, "x\nlast") {
		t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-10:])
	}
	if got, want := big.Total(), int64(100_004); got != want {
		t.Errorf("counted %d bytes, want %d", got, want)
	}
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"\n\n", ""},
		{"one\n", "\n\tone"},
		{"one\ntwo\nthree\n", "\n\t...\n\ttwo\n\tthree"},
		{strings.Repeat("y", maxLine+1), "\n\t" + strings.Repeat("y", maxLine) + "..."},
	} {
		if got := Lines(test.text, 2); got != test.want {
			t.Errorf("the end of %q: got %q, want %q", test.text, got, test.want)
		}
	}
}
