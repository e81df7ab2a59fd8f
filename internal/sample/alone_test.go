package sample

import (
	"slices"
	"testing"
	"time"

	"interleave/internal/group"
	"interleave/internal/proc"
)

func TestMoreAlone(t *testing.T) {
	of := func(n int, rss, pss int64) (list []part) {
		for range n {
			list = append(list, part{rss, pss})
		}
		return list
	}
	// 10 strangers, 15 other servers, and 150 children of one of them with the two fifths of the
	// pages that all run
	crowded := int64(25_350) // 1e6 * (.4/(10+1+15+150) + .6/(10+1+15))
	tests := []struct {
		name   string
		own    []part
		others []part
		want   int64
	}{
		{"nothing is shared", of(1, 1000, 1000), nil, 0},
		{"a twin", of(1, 1000, 500), of(1, 1000, 500), 500},
		{"a library of the whole machine", of(1, 1200, 120), of(4, 1200, 120), 80},
		{"children that share among themselves", of(4, 1000, 125), of(4, 1000, 125), 500},
		{"others that have none of these pages", of(1, 1000, 1000), of(8, 1000, 1000), 0},
		{"nothing resident", of(1, 0, 0), of(1, 0, 0), 0},
		{"another's many children", of(1, 1e6, crowded),
			append(of(15, 1e6, crowded), of(150, 4e5, 2300)...), 1_000_000/11 - crowded},
	}
	for _, test := range tests {
		file := proc.FileID{Device: 1, Inode: 1}
		all := files{file: append(slices.Clone(test.own), test.others...)}
		all.sort()
		got := files{file: test.own}.more(all)
		if off := got - test.want; max(off, -off) > 1+test.want/1000 {
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
