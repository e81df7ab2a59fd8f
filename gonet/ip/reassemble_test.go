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
		{"half over another", []piece{{0, make([]byte, 16), true}, {8, make([]byte, 16), true}},
			ErrOverlap},
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

// FuzzReassembly compares Reassembly with a map of bytes: accepted fragments never overlap, and a
// whole datagram is what was sent. Each fragment of the input is five bytes: its offset (two, in
// units of 8), its length (in units of 8), the byte that fills it, and flags: more follow, and by
// how much the length is off.
func FuzzReassembly(f *testing.F) {
	f.Add([]byte{0, 0, 2, 'a', 1, 0, 2, 1, 'b', 0})
	f.Add([]byte{0, 2, 1, 'b', 0, 0, 0, 2, 'a', 1})
	f.Add([]byte{0, 0, 2, 'a', 1, 0, 0, 2, 'a', 1, 0, 1, 2, 'a', 1})
	f.Add([]byte{0, 0, 2, 'a', 1, 0, 1, 2, 'b', 1})
	f.Add([]byte{31, 255, 1, 'z', 2, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReassembly()
		var held [65536]byte
		var there [65536]bool
		count, total := 0, -1
		for ; len(in) >= 5; in = in[5:] {
			at := (int(in[0])<<8 | int(in[1])) & 0x1fff * 8
			more := in[4]&1 != 0
			b := bytes.Repeat(in[3:4], int(in[2])*8+int(in[4]>>1&7))
			whole, err := r.Add(at, b, more)
			if err != nil {
				return // the datagram is dropped
			}
			end := at + len(b)
			if end > 65535 || len(b) == 0 || more && len(b)%8 != 0 {
				t.Fatalf("took %d bytes at %d, more: %v", len(b), at, more)
			}
			met, same := 0, true
			for i := at; i < end; i++ {
				if there[i] {
					met++
					same = same && held[i] == b[0]
				}
			}
			switch {
			case met == 0:
				if !more && total >= 0 {
					t.Fatalf("took a second end, at %d and %d", total, end)
				} else if !more {
					total = end
				}
				for i := at; i < end; i++ {
					there[i], held[i] = true, b[0]
				}
				count += len(b)
			case met < len(b) || !same:
				t.Fatalf("took %d bytes at %d, of which it had %d, the same: %v", len(b), at, met,
					same)
			}
			if is := count == total && met == 0; (whole != nil) != is {
				t.Fatalf("whole: %v, with %d bytes of %d", whole != nil, count, total)
			}
			if whole != nil {
				if !bytes.Equal(whole, held[:total]) {
					t.Fatal("it is not what came")
				}
				return
			}
		}
	})
}
