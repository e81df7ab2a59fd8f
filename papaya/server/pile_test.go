package server

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"interleave/papaya/hall"
)

// TestPiles puts own lines and parts of runs on piles in many ways, and reads what is sent.
func TestPiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		runs := []*hall.Run{{}, {}, {}}
		var want []byte
		all := newPile()
		for range r.IntN(4) + 1 { // flushes, while a writer is busy
			stage := newPile()
			for range r.IntN(40) + 1 {
				line := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(800))
				n := r.IntN(6)
				if n < len(runs) {
					from, to := runs[n].Add(line)
					if r.IntN(5) == 0 {
						continue // a line that this client does not get
					}
					stage.extend(runs[n], from, to)
				} else {
					stage.write(line)
				}
				want = append(want, line...)
			}
			all.add(stage)
			stage.give()
		}
		if all.waiting() != len(want) {
			t.Fatalf("seed %d: %d bytes wait, want %d", seed, all.waiting(), len(want))
		}
		held := map[*hall.Run]bool{}
		kept := 0
		for _, p := range all.pieces {
			if p.run != nil && !held[p.run] {
				held[p.run] = true
				kept += p.run.Size()
			}
		}
		if kept > worthOf*all.size {
			t.Errorf("seed %d: %d bytes keep %d in memory", seed, all.size, kept)
		}
		sent := make(chan error, 1)
		go func() { sent <- all.send(out) }()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v; got %.100q, want %.100q", seed, err, got, want)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		all.give()
	}
}
