package play

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLedger(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"in order", []string{"a.0|x\n", "b.0|y\n", "a.1|x\n", "\n", "\n"}, ""},
		{"mixed", []string{"\n", "b.0|y\n", "a.0|x\n", "\n", "a.1|x\n"}, ""},
		{"exchanged", []string{"a.1|x\n", "a.0|x\n"}, "got line 0 of a after line 1: out of order"},
		{"doubled", []string{"a.0|x\n", "a.0|x\n"}, "more often than it was sent"},
		{"torn", []string{"a.0b.0|y\n"}, `a line that nobody sent: "a.0b.0|y\n" (9 bytes)`},
		{"one empty line too many", []string{"\n", "\n", "\n"}, "more often"},
	} {
		l := newLedger()
		l.add("a.0|x\n", "a", 0)
		l.add("a.1|x\n", "a", 1)
		l.add("b.0|y\n", "b", 0)
		l.add("\n", "", 0)
		l.add("\n", "", 0)
		var err error
		for _, line := range test.lines {
			if err = l.take([]byte(line)); err != nil {
				break
			}
		}
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if test.want == "" && l.count != 0 {
			t.Errorf("%s: %d lines left", test.name, l.count)
		}
	}
}

func TestGeneratedLinesNameTheirSender(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for length := int64(1); length < 300; length++ {
		line, named := generate("c[3]", 17, length, random)
		if int64(len(line)) != length || strings.IndexByte(string(line), '\n') != len(line)-1 {
			t.Fatalf("length %d: got %q", length, line)
		}
		if want := strings.HasPrefix(string(line[:len(line)-1]), "c[3].17|"); named != want {
			t.Errorf("length %d: %q counts as named: %v", length, line, named)
		}
	}
}
