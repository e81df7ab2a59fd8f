package sample

import (
	"testing"
	"time"

	"interleave/internal/group"
	"interleave/internal/proc"
)

func TestMoreAlone(t *testing.T) {
	a, b, c := proc.FileID{Device: 1, Inode: 1}, proc.FileID{Device: 1, Inode: 2},
		proc.FileID{Device: 1, Inode: 3}
	tests := []struct {
		name  string
		files files
		all   map[proc.FileID]int
		want  int64
	}{
		{"nothing is shared", files{a: {1000, 1000, 1}}, map[proc.FileID]int{a: 1}, 0},
		{"a twin", files{a: {1000, 500, 1}}, map[proc.FileID]int{a: 2}, 500},
		{"a library of the whole machine", files{b: {1200, 120, 1}}, map[proc.FileID]int{b: 5}, 80},
		{"children that share among themselves", files{c: {4000, 500, 4}},
			map[proc.FileID]int{c: 8}, 500},
		{"others that have none of these pages", files{a: {1000, 1000, 1}},
			map[proc.FileID]int{a: 9}, 0},
		{"nothing resident", files{a: {0, 0, 1}}, map[proc.FileID]int{a: 2}, 0},
	}
	for _, test := range tests {
		if got := test.files.more(test.all); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// TestAlone has three servers of one program, and measures the first when the others are gone: it
// has then touched all the pages that it had beside them.
func TestAlone(t *testing.T) {
	read := func(h *helper) *Stints {
		s := NewStints(h.group, time.Second)
		s.Open()
		s.Close()
		return s
	}
	closed := func(s *Stints) int64 {
		series := s.Series()
		m, ok := series.Mark(MarkClosed)
		if !ok {
			t.Fatal("there is no sample at the window's end")
		}
		return m.PSS
	}
	first := startHelper(t, group.Options{})
	var shared, got int64
	t.Run("together", func(t *testing.T) {
		second, third := startHelper(t, group.Options{}), startHelper(t, group.Options{})
		together := []*Stints{read(first), read(second), read(third)}
		shared = closed(together[0])
		Alone(together)
		got = closed(together[0])
	})
	alone := closed(read(first))
	t.Logf("alone %d, together %d, corrected %d", alone, shared, got)
	// the test itself is a fourth process of the program
	if shared >= alone {
		t.Skipf("SKIP: nothing is shared here: %d alone, %d together", alone, shared)
	}
	if off := max(got-alone, alone-got); off > (alone-shared)/2 {
		t.Errorf("got %d, want %d, from %d", got, alone, shared)
	}
}
