package ip

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

type piece struct {
	at   int
	b    []byte
	more bool
}

func pieces(data []byte, size int) (out []piece) {
	for at := 0; at < len(data); at += size {
		end := min(at+size, len(data))
		out = append(out, piece{at, data[at:end], end < len(data)})
	}
	return out
}

func TestAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		data := make([]byte, 1+random.IntN(20000))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		all := pieces(data, 8*(1+random.IntN(200)))
		all = append(all, all[random.IntN(len(all))]) // a duplicate
		random.Shuffle(len(all)-1, func(i, j int) { all[i], all[j] = all[j], all[i] })
		r := NewReassembly()
		var got []byte
		for i, p := range all {
			whole, err := r.Add(p.at, p.b, p.more)
			if err != nil {
				t.Fatal(err)
			}
			if whole != nil {
				if got = whole; i < len(all)-2 {
					t.Fatalf("whole after %d of %d", i+1, len(all))
				}
				break
			}
		}
		if !bytes.Equal(got, data) {
			t.Fatalf("%d bytes that are not the %d that were cut", len(got), len(data))
		}
	}
}

func TestRefused(t *testing.T) {
	eight, other := make([]byte, 8), bytes.Repeat([]byte{1}, 8)
	for _, c := range []struct {
		name string
		in   []piece
		err  error
	}{
		{"the same place, other bytes", []piece{{8, eight, true}, {8, other, true}}, ErrOverlap},
		{"half over another", []piece{{0, make([]byte, 16), true}, {8, make([]byte, 16), true}}, ErrOverlap},
		{"around another", []piece{{8, eight, true}, {0, make([]byte, 24), true}}, ErrOverlap},
		{"behind the end", []piece{{8, eight, false}, {16, eight, true}}, ErrOverlap},
		{"two ends", []piece{{8, eight, false}, {24, eight, false}}, ErrOverlap},
		{"an end before what is there", []piece{{80, eight, true}, {8, eight, false}}, ErrOverlap},
		{"beyond 64 KiB", []piece{{65528, eight, false}}, ErrLong},
		{"odd in the middle", []piece{{0, eight[:7], true}}, ErrLength},
		{"empty", []piece{{8, nil, false}}, ErrLength},
	} {
		r := NewReassembly()
		var err error
		for _, p := range c.in {
			_, err = r.Add(p.at, p.b, p.more)
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
	r := NewReassembly()
	for i := range maxFragments {
		if _, err := r.Add(16*i, eight, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Add(16*maxFragments, eight, true); !errors.Is(err, ErrMany) {
		t.Errorf("one more than %d: %v", maxFragments, err)
	}
}

func FuzzReassembly(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReassembly()
		for ; len(in) >= 3; in = in[3:] {
			whole, err := r.Add(8*int(in[0]), bytes.Repeat(in[2:3], int(in[1])), in[2]&1 == 1)
			if err != nil {
				return
			}
			if whole != nil {
				if len(whole) != r.total || len(whole) > 65535 {
					t.Fatalf("%d bytes, want %d", len(whole), r.total)
				}
				return
			}
			for i, s := range r.runs {
				if s.start >= s.end || i > 0 && s.start <= r.runs[i-1].end {
					t.Fatalf("runs %v", r.runs)
				}
			}
		}
	})
}
