package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// of makes what one process of a census has used: its own, its children's, in ticks.
func of(parent int, start uint64, own, children time.Duration) counted {
	return counted{parent, start, own * Tick, children * Tick}
}

// TestSince: what processes have used in between, whatever becomes of them.
func TestSince(t *testing.T) {
	for _, test := range []struct {
		name        string
		before, now Census
		want        time.Duration
	}{
		{"nobody", Census{}, Census{}, 0},
		{"one that works, one that rests", Census{5: of(1, 1, 70, 0), 6: of(1, 2, 3, 4)},
			Census{5: of(1, 1, 75, 0), 6: of(1, 2, 3, 4)}, 5},
		{"one that has begun", Census{}, Census{5: of(1, 1, 2, 1)}, 3},
		{"another with the number of one that has ended", Census{5: of(0, 1, 70, 0)},
			Census{5: of(0, 2, 4, 0)}, 4},
		{"one that has ended, and its parent has waited", Census{5: of(1, 1, 1, 0), 6: of(5, 2, 70,
			10)}, Census{5: of(1, 1, 1, 85)}, 5},
		{"nobody has waited", Census{5: of(1, 1, 1, 0), 6: of(5, 2, 70, 10)},
			Census{5: of(1, 1, 3, 0)}, 2},
		{"the parent has ended, too", Census{4: of(1, 1, 0, 0), 5: of(4, 1, 1, 0), 6: of(5, 2, 70,
			0)}, Census{4: of(1, 1, 0, 1)}, 0},
		{"begun, ended and waited for", Census{5: of(1, 1, 1, 0)}, Census{5: of(1, 1, 1, 30)}, 30},
		{"a clock that went back", Census{5: of(1, 1, 10, 0)}, Census{5: of(1, 1, 9, 0)}, 0},
	} {
		if got := test.now.Since(test.before); got != test.want*Tick {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want*Tick)
		}
	}
}

func TestStartedBy(t *testing.T) {
	c := Census{5: of(1, 1, 0, 0), 6: of(5, 1, 0, 0), 7: of(6, 1, 0, 0), 8: of(9, 1, 0, 0),
		9: of(8, 1, 0, 0), 10: of(4000, 1, 0, 0), 11: of(0, 1, 0, 0)}
	ours := map[int]bool{4: true, 5: true}
	for pid, want := range map[int]bool{6: true, 7: true, 5: false, 8: false, 10: false,
		11: false} {
		if got := c.startedBy(c[pid], ours); got != want {
			t.Errorf("process %d: got %v, want %v", pid, got, want)
		}
	}
	if !c.startedBy(of(4, 1, 0, 0), ours) {
		t.Error("the child of one of ours, which is not in the census, is not ours")
	}
}

// TestCount sees a busy child of this process as another program, and does not see it as ours. What
// else runs here meanwhile can only add.
func TestCount(t *testing.T) {
	busy := exec.Command("sh", "-c", "sh -c 'while :; do :; done' & read line; kill $!")
	stdin, err := busy.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		_ = busy.Wait()
	}()
	var r Reader
	count := func(ours ...int) Census {
		c, ok := Count(&r, ours)
		if !ok {
			t.Skip("SKIP: not all processes of this machine are seen: run it outside a container")
		}
		return c
	}
	first, without := count(), count(busy.Process.Pid)
	for end := time.Now().Add(time.Minute); count().Since(first) < 5*Tick; {
		if time.Now().After(end) {
			t.Fatal("a busy loop was not seen for a minute")
		}
	}
	if _, there := first[os.Getpid()]; !there {
		t.Error("a process that is not ours is missing")
	}
	last := count(busy.Process.Pid)
	for pid, p := range last {
		if pid == busy.Process.Pid || p.parent == busy.Process.Pid {
			t.Errorf("process %d is ours, or was started by ours, and counts", pid)
		}
	}
	if len(without) == 0 || len(last) == 0 {
		t.Error("nobody else is there")
	}
	for pid, p := range count(os.Getpid()) {
		if pid == os.Getpid() || pid == busy.Process.Pid || p.parent == busy.Process.Pid {
			t.Errorf("process %d is this one, or was started by it, and counts", pid)
		}
	}
}
