package sample

import (
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"interleave/internal/group"
	"interleave/internal/proc"
)

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

// never is an interval at which no tick comes in a test.
const never = time.Hour

// slack is the allowed difference of one look's CPU from the truth: answering costs the helper
// some, and /proc counts the dead in ticks, user and system time separately.
func slack(o group.Options) time.Duration {
	if o.NoCgroup {
		return 3 * proc.Tick
	}
	return 10 * time.Millisecond
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

func TestCPU(t *testing.T) {
	for _, command := range []string{"burn 300", "fork 100"} {
		t.Run(command, func(t *testing.T) {
			both(t, func(t *testing.T, o group.Options) {
				h := startHelper(t, o)
				s := New(h.group, never)
				s.Start()
				before := h.do("nothing")
				s.Mark(MarkOpen)
				after := h.do(command)
				s.Mark(MarkClosed)
				series := s.Stop()
				d, ok := series.Between(MarkOpen, MarkClosed)
				want := after.self + after.kids - before.self - before.kids
				if !ok || want < 300*time.Millisecond {
					t.Fatalf("marks: %v; the helper burnt %v", ok, want)
				}
				near(t, "CPU ms", d.CPU().Seconds()*1e3, want.Seconds()*1e3, slack(o).Seconds()*1e3)
				if d.Wall < want/3 || d.Busy < want/2 {
					t.Errorf("got wall %v and busy %v around %v of CPU", d.Wall, d.Busy, want)
				}
				if last := series.Samples[len(series.Samples)-1]; last.Self == 0 {
					t.Error("our own CPU is 0")
				}
			})
		})
	}
}

// TestFineCPU sees a burn that is shorter than a tick: an interval of 100 ms has only ten ticks.
func TestFineCPU(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		h := startHelper(t, o)
		s := New(h.group, never)
		s.Start()
		defer s.Stop()
		before := h.do("nothing")
		from := s.Mark("from")
		after := h.do("burn 4")
		got := s.Mark("to").Sub(from).CPU()
		near(t, "CPU ms", got.Seconds()*1e3, (after.self-before.self).Seconds()*1e3, 3)
	})
}

func TestMemory(t *testing.T) {
	const mib = 96
	tests := []struct {
		first, command string
		rss, pss       float64 // relative to the allocated memory
	}{
		{"nothing", "memory", 1, 1},
		{"spawn", "shared", 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			both(t, func(t *testing.T, o group.Options) {
				h := startHelper(t, o)
				s := New(h.group, never)
				s.Start()
				defer s.Stop()
				h.do(fmt.Sprintf("%s %d", tt.first, mib))
				before := s.Mark("before")
				h.do(fmt.Sprintf("%s %d", tt.command, mib))
				after := s.Mark("after")
				near(t, "RSS MiB", float64(after.RSS-before.RSS)/(1<<20), tt.rss*mib,
					tt.rss*mib*0.02)
				near(t, "PSS MiB", float64(after.PSS-before.PSS)/(1<<20), tt.pss*mib,
					tt.pss*mib*0.02)
			})
		})
	}
}

func TestThreads(t *testing.T) {
	const n = 12
	both(t, func(t *testing.T, o group.Options) {
		h := startHelper(t, o)
		s := New(h.group, never)
		s.Trace()
		s.Start()
		before := s.Mark(MarkOpen)
		least := h.do(fmt.Sprintf("threads %d", n)).threads
		after := s.Mark(MarkClosed)
		series := s.Stop()
		most := h.do("nothing").threads // the Go runtime may have added some, and ends none
		if after.Threads < n || after.Threads < least || after.Threads > most {
			t.Errorf("got %d threads, want %d to %d", after.Threads, least, most)
		}
		if after.RunWait <= before.RunWait {
			t.Errorf("12 threads on fewer cores waited %v", after.RunWait-before.RunWait)
		}
		if n := len(series.Traced); n < 12 || n > maxTraced || len(after.Ran) != n {
			t.Errorf("got the CPU of %d threads of %d traced, want 12 to %d", len(after.Ran), n,
				maxTraced)
		}
		for i, th := range series.Traced[:min(len(series.Traced), len(after.Ran))] {
			for _, of := range series.Threads {
				if of.TID == th.TID && (after.Ran[i] < of.CPU || of.Name != th.Name) {
					t.Errorf("thread %d %q has run %v, and %v in the window alone", th.TID, th.Name,
						after.Ran[i], of.CPU)
				}
			}
		}
		if before.Kernel <= 0 || after.Kernel <= 0 {
			t.Errorf("got %d and %d bytes of the kernel, want some", before.Kernel, after.Kernel)
		}
		got := map[string]time.Duration{}
		for i, th := range series.Threads {
			got[th.Name] = th.CPU
			if i > 0 && th.CPU > series.Threads[i-1].CPU {
				t.Errorf("thread %d used more than the one before", i)
			}
		}
		for i := range n {
			name := fmt.Sprintf("worker-%d) S 1 (", i)
			want := time.Duration(10+2*i) * time.Millisecond
			// 15: all that a name may have
			near(t, name+" CPU ms", got[name[:min(15, len(name))]].Seconds()*1e3,
				want.Seconds()*1e3, 10)
		}
	})
}

func TestSwitchesAndFaults(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		h := startHelper(t, o)
		s := New(h.group, never)
		s.Start()
		defer s.Stop()
		t0 := h.do("nothing")
		before := s.Mark("before")
		t1 := h.do("sleeps 2000")
		after := s.Mark("after")
		want := float64(t1.voluntary - t0.voluntary)
		if want < 2000 {
			t.Fatalf("the helper slept %v times", want)
		}
		near(t, "voluntary switches", float64(after.Voluntary-before.Voluntary), want, want*0.05)
		t2 := h.do("memory 16")
		touched := s.Mark("touched")
		near(t, "minor faults", float64(touched.MinorFaults-after.MinorFaults),
			float64(t2.faults-t1.faults), 100)
		if got := after.Descriptors; got < 3 {
			t.Errorf("got %d descriptors, want at least 3", got)
		}
	})
}

// TestFaultsOfTheDead keeps the faults of children that came and went.
func TestFaultsOfTheDead(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		h := startHelper(t, o)
		s := New(h.group, time.Millisecond)
		s.Start()
		defer s.Stop()
		t0 := h.do("nothing")
		before := s.Mark("before")
		t1 := h.do("fork 20")
		after := s.Mark("after")
		want := float64(t1.faults - t0.faults)
		near(t, "minor faults", float64(after.MinorFaults-before.MinorFaults), want, want*0.1+100)
		if after.Processes != 1 {
			t.Errorf("got %d processes, want 1", after.Processes)
		}
	})
}

// TestChurn samples processes that die while they are read.
func TestChurn(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		g, err := group.New("test", o)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := g.Start(exec.Command("sh", "-c",
			`while :; do sh -c 'exit 0' & sh -c 'exit 0' & wait; done`)); err != nil {
			t.Fatal(err)
		}
		s := New(g, 500*time.Microsecond)
		s.Start()
		open := s.Mark(MarkOpen)
		for looks, used := 0, time.Duration(0); g.Alive() && (looks < 20 ||
			used < 50*time.Millisecond); looks++ {
			used = s.Mark("again").Sub(open).CPU()
		}
		s.Mark(MarkClosed)
		series := s.Stop()
		for i, m := range series.Samples[1:] {
			d := m.Sub(series.Samples[i])
			if d.Wall < 0 || d.CPU() < -2*proc.Tick || d.Voluntary < 0 || d.Involuntary < 0 ||
				d.RunWait < 0 {
				t.Fatalf("sample %d fell: %+v", i+1, d)
			}
		}
		d, _ := series.Between(MarkOpen, MarkClosed)
		if d.CPU() < 40*time.Millisecond || d.MinorFaults < 500 {
			t.Errorf("got %+v: the dead were forgotten", d)
		}
	})
}

// sleepers starts a shell with n sleeping children.
func sleepers(t testing.TB, o group.Options, n int) *group.Group {
	t.Helper()
	g, err := group.New("test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do sleep 310 & i=$((i+1)); done; wait`, n)
	if err := g.Start(exec.Command("sh", "-c", script)); err != nil {
		t.Fatal(err)
	}
	const patience = 5 * time.Minute // a net
	for end := time.Now().Add(patience); len(g.PIDs()) < n+1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d processes after %v", len(g.PIDs()), n+1, patience)
		}
	}
	return g
}

// TestCost checks the sampler's budget: 100 processes in 5 ms of CPU, and no garbage.
func TestCost(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		runtime.LockOSThread() // for its clock
		defer runtime.UnlockOSThread()
		// at this interval no look is repeated because the core was lost
		s := New(sleepers(t, o, 99), never)
		s.start = time.Now()
		var r proc.Reader
		best, unit := never, never
		for range 20 { // other load makes each look more expensive: the best one counts
			s.process, s.detail = layer{}, layer{} // every layer is due
			before := clockThread()
			got := s.look("")
			best = min(best, clockThread()-before)
			if got.Processes != 100 || got.Threads != 100 || got.RSS == 0 || got.Descriptors < 100 {
				t.Fatalf("got %+v", got)
			}
			before = clockThread()
			r.File(1, "stat")
			unit = min(unit, clockThread()-before)
		}
		// The budget is 5 ms for 100 processes on an idle machine. A busy one, or one with many
		// other processes in the fall-back, is allowed as many reads of a stat file: ten for each
		// process, three for each of the machine's.
		limit := max(5*time.Millisecond, time.Duration(10*100+3*len(r.PIDs(nil)))*unit)
		if best > limit {
			t.Errorf("a sample of 100 processes costs %v, want %v at most", best, limit)
		}
		t.Logf("a sample of 100 processes costs %v", best)
		allocated := testing.AllocsPerRun(20, func() {
			s.process, s.detail = layer{}, layer{}
			s.look("")
		})
		if allocated > 5 {
			t.Errorf("got %v allocations for a sample of 100 processes, want 5 at most", allocated)
		}
	})
}

// TestMarksAtOnce: the CPU of a mark is that of the moment at which it is asked for. The memory of
// many processes takes longer to read than a short window lasts, at the mark itself or in a look at
// the interval that is under way.
func TestMarksAtOnce(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		s := New(sleepers(t, o, 199), time.Millisecond)
		s.Start()
		defer s.Stop()
		for _, mark := range []string{MarkOpen, MarkClosed} {
			least := 1.
			// The caller may lose its core in some.
			for n := 0; n < 20 && (n < 5 || least > .5); n++ {
				asked := time.Since(s.start)
				got := s.Mark(mark)
				late, whole := got.At-asked, time.Since(s.start)-asked
				least = min(least, float64(late)/float64(whole))
			}
			if least > .5 {
				t.Errorf("%s: the counters were read after %.0f %% of a look at 200 processes, "+
					"want before the rest", mark, 100*least)
			}
		}
		for i, m := range s.Stop().Samples {
			if i > 0 && m.At < s.series.Samples[i-1].At {
				t.Fatalf("sample %d is at %v, the one before at %v", i, m.At,
					s.series.Samples[i-1].At)
			}
		}
	})
}

// A stuck group keeps its first look until it is released.
type stuck struct {
	looks           atomic.Int32
	entered, leaves chan struct{}
}

func (g *stuck) Source() string { return "stuck" }

func (g *stuck) Look(u *group.Usage) error {
	n := g.looks.Add(1)
	if n == 1 {
		close(g.entered)
		<-g.leaves
	}
	*u = group.Usage{User: time.Duration(n)}
	return nil
}

// TestAMarkDoesNotWait: while the sampler is busy with a look at the interval, a mark has the
// counters of the moment at which it is asked for.
func TestAMarkDoesNotWait(t *testing.T) {
	g := &stuck{entered: make(chan struct{}), leaves: make(chan struct{})}
	s := New(g, time.Millisecond)
	s.Start()
	defer s.Stop()
	<-g.entered
	marked := make(chan Sample)
	go func() { marked <- s.Mark(MarkOpen) }()
	for end := time.Now().Add(time.Minute); g.looks.Load() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			close(g.leaves)
			t.Fatal("the mark waits for the sampler")
		}
	}
	close(g.leaves)
	if got := <-marked; got.User < 2 || got.Mark != MarkOpen {
		t.Errorf("got %+v, want the counters of the second look", got)
	}
}

func BenchmarkSample(b *testing.B) {
	for _, o := range []group.Options{{}, {NoCgroup: true}} {
		for _, n := range []int{10, 100} {
			b.Run(fmt.Sprintf("proc=%v/processes=%d", o.NoCgroup, n), func(b *testing.B) {
				s := New(sleepers(b, o, n-1), 100*time.Millisecond)
				b.ReportAllocs()
				for b.Loop() {
					s.process, s.detail = layer{}, layer{}
					s.series.Samples = s.series.Samples[:0]
					s.look("")
				}
			})
		}
	}
}

func TestEnds(t *testing.T) {
	g, err := group.New("test", group.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(g, time.Millisecond)
	s.Start()
	if m := s.Mark(MarkIdle); m.Mark != MarkIdle || m.Processes != 0 || m.Busy == 0 {
		t.Errorf("an empty group: got %+v", m)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if m := s.Mark(MarkOpen); m.At != 0 {
		t.Errorf("a closed group: got %+v", m)
	}
	series := s.Stop()
	if again := s.Stop(); len(again.Samples) != len(series.Samples) {
		t.Error("a second Stop returned something else")
	}
	if m := s.Mark(MarkClosed); m.At != 0 || m.Mark != MarkClosed {
		t.Errorf("after Stop: got %+v", m)
	}
	if _, ok := series.Between(MarkIdle, MarkOpen); ok {
		t.Error("a mark that could not be read is in the series")
	}
	if !strings.Contains(series.Source, "proc") {
		t.Errorf("source %q", series.Source)
	}
}
