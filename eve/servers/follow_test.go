package servers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A logFile is a log that somebody writes.
type logFile struct {
	t    *testing.T
	name string
}

func (l logFile) append(text string) {
	l.t.Helper()
	f, err := os.OpenFile(l.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
}

// The page's program shows what matches, once each, in logs that come, grow, are moved away and cut
// off.
func TestPageOfFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := logFile{t, filepath.Join(dir, "a.log")}, logFile{t, filepath.Join(dir, "b.log")}
	p := startWith(t, []string{page(t, "follow"), `x(\d+)`, a.name, b.name})
	want := ""
	shows := func(log logFile, lines ...string) {
		t.Helper()
		for _, line := range lines {
			want += log.name + ": " + line + "\n"
		}
		p.eventually("it shows "+strings.Join(lines, ", "),
			func() bool { return strings.Count(p.out.String(), "\n") >= strings.Count(want, "\n") })
		if got := p.out.String(); got != want {
			t.Fatalf("it shows %q, want %q", got, want)
		}
	}
	p.eventually("it says that the logs are not there",
		func() bool { return strings.Count(p.err.String(), "No such file") == 2 })
	a.append("x1\nno\nx2")
	shows(a, "x1")
	a.append("3\n\nx4\n")
	shows(a, "x23", "x4")
	b.append("x5 in a line that is not short\n")
	shows(b, "x5 in a line that is not short")
	old := logFile{t, a.name + ".1"}
	if err := os.Rename(a.name, old.name); err != nil {
		t.Fatal(err)
	}
	old.append("x6\n") // its writer has not heard of it yet
	shows(a, "x6")
	old.append("x7")
	a.append("x8 in a new log that is longer than the old one\n")
	shows(a, "x7", "x8 in a new log that is longer than the old one")
	if err := os.Truncate(b.name, 0); err != nil {
		t.Fatal(err)
	}
	b.append("x\nx9") // less than there was: so it shows that it was cut off
	b.append("\n")
	shows(b, "x9")
	if err := os.Remove(a.name); err != nil {
		t.Fatal(err)
	}
	a.append(strings.Repeat("no\n", 100_000) + strings.Repeat("x", 3<<20) + "\nx10\n")
	shows(a, "x10")
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
	if said := p.err.String(); strings.Count(said, "\n") != 2 {
		t.Errorf("it says %q", said)
	}
}

// With --count it shows how often each text was there, at its end.
func TestPageOfFollowCounts(t *testing.T) {
	t.Parallel()
	log := logFile{t, filepath.Join(t.TempDir(), "log")}
	log.append(strings.Repeat("GET /a 200\n", 3000) +
		strings.Repeat("GET /b 200\nPUT /c 500\n", 5000) +
		strings.Repeat("GET /a 404\n", 4000))
	words := []string{page(t, "follow"), "--count", `GET (\S+)`, log.name}
	// Nothing tells that it has counted all, so it gets a little more time with each try.
	for tries, end := 0, time.Now().Add(patience); ; tries++ {
		p := startWith(t, words)
		p.eventually("it has the log open", func() bool {
			links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
			return slices.ContainsFunc(links, func(link string) bool {
				to, _ := os.Readlink(link)
				return to == log.name
			})
		})
		for range tries {
			time.Sleep(5 * time.Millisecond)
		}
		p.signal(syscall.SIGINT)
		p.mustExit(0)
		if p.out.String() == "7000 /a\n5000 /b\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it shows %q", p.out.String())
		}
	}
	for _, c := range []struct{ words, want string }{
		{"--invert ( a", "the pattern: "},
		{"x", "is missing"},
		{"--help", "the lines of growing logs"},
	} {
		p := startWith(t, append(words[:1:1], strings.Fields(c.words)...))
		<-p.ended
		if said := p.out.String() + p.err.String(); !strings.Contains(said, c.want) {
			t.Errorf("%s: it says %q, want %q", c.words, said, c.want)
		}
	}
}
