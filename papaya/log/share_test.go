package log

import (
	"errors"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// cluster starts a node of NATS, and returns servers that share its stream.
func cluster(t *testing.T, names ...string) (servers []*JetStream) {
	t.Helper()
	node, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1",
		Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true,
		NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	node.Start()
	t.Cleanup(func() { node.Shutdown(); node.WaitForShutdown() })
	if !node.ReadyForConnections(patience) {
		t.Fatal("NATS does not start")
	}
	for _, name := range names {
		j, err := Open(t.Context(), Options{URL: node.ClientURL(), Name: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		servers = append(servers, j)
	}
	return servers
}

// TestTheTextIsShared: a server can be asked as soon as ShareText has returned, gives no lines that
// it lacks itself, and does not answer itself.
func TestTheTextIsShared(t *testing.T) {
	servers := cluster(t, "a", "b", "c")
	a, b, c := servers[0], servers[1], servers[2]
	_, _, err := a.AskText(t.Context(), Range{0, 1 << 40}, patience)
	if !errors.Is(err, ErrNoText) {
		t.Errorf("while nobody answers: %v", err) // at once
	}
	end := uint64(len(lineA))
	late := end + 3000
	of := func(has string, at uint64) *Text {
		x := openText(t, t.TempDir())
		if at > 0 {
			write(t, x, 0, lineA)
			if err := x.Lack(at); err != nil {
				t.Fatal(err)
			}
		}
		write(t, x, at, has)
		return x
	}
	if err := b.ShareText(t.Context(), of(lineB, late)); err != nil {
		t.Fatal(err)
	}
	ask := func(j *JetStream, r Range, wait time.Duration, want uint64, lines string) {
		t.Helper()
		at, got, err := j.AskText(t.Context(), r, wait)
		if at != want || string(got) != lines || (err == nil) != (lines != "") {
			t.Errorf("of %v: %d, %q, %v; want %d, %q", r, at, got, err, want, lines)
		}
	}
	const short = 50 * time.Millisecond
	all := late + uint64(len(lineB))
	ask(a, Range{0, all}, patience, 0, lineA)
	ask(a, Range{late, all}, patience, late, lineB)
	ask(a, Range{end, late}, short, 0, "") // b has later lines only
	ask(b, Range{0, all}, short, 0, "")
	if err := c.ShareText(t.Context(), of(lineA+lineB, 0)); err != nil {
		t.Fatal(err)
	}
	ask(a, Range{end, all}, patience, end, lineB)
	ask(a, Range{0, end / 2}, patience, 0, lineA[:end/2]) // more than is wanted is cut off
}
