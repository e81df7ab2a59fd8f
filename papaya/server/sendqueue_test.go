package server

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/hall"
)

// TestSendQueues adds single lines and parts of runs to send queues in many ways, and compares the
// bytes that are sent.
func TestSendQueues(t *testing.T) {
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
	raw, err := out.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var w writer
	whole, part := 0, 0
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for seed := range uint64(201) {
		r := rand.New(rand.NewPCG(seed, 1))
		runs := []*hall.Run{{}, {}, {}}
		var want []byte
		all := newSendQueue()
		for range r.IntN(4) + 1 { // each is a flush while a writer is busy
			stage := newSendQueue()
			lines := r.IntN(40) + 1
			if seed == 200 {
				lines = 20000 // more than the kernel takes at once
			}
			for range lines {
				line := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(800))
				n := r.IntN(6)
				if n < len(runs) {
					from, to := runs[n].Add(line)
					if r.IntN(5) == 0 {
						continue // a line for other clients
					}
					stage.extend(runs[n], from, to)
				} else {
					stage.write(line)
				}
				want = append(want, line...)
			}
			all.add(stage)
			stage.release()
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
		for range 1 + seed%2 { // without blocking: nothing is read yet
			if err := w.send(raw, all, w.try); err != nil {
				t.Fatal(err)
			}
			if all.size > 0 {
				part++
			} else {
				whole++
			}
		}
		go func() { sent <- all.send(out) }()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v; got %.100q, want %.100q", seed, err, got, want)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		all.release()
	}
	if whole == 0 || part == 0 {
		t.Errorf("the kernel took %d send queues at once, and a part of %d: both should have "+
			"come up",
			whole, part)
	}
}

// TestSpares releases the send queues of ten thousand clients: only a bounded part is kept.
func TestSpares(t *testing.T) {
	var all []*sendQueue
	for n := range 10_000 {
		p := newSendQueue()
		p.write(bytes.Repeat([]byte("x"), n))
		all = append(all, p)
	}
	for _, p := range all {
		p.release()
	}
	spares.mu.Lock()
	kept, bytes := 0, 0
	for _, p := range spares.queues {
		kept++
		bytes += p.capacity()
	}
	if bytes > maxSpares || bytes != spares.bytes || kept == 0 {
		t.Errorf(
			"%d send queues of %d bytes are kept, and said to be %d; want some, and %d bytes at "+
				"most",
			kept, bytes, spares.bytes, maxSpares)
	}
	spares.mu.Unlock()
	for range kept {
		if p := newSendQueue(); p.size != 0 || len(p.own) != 0 || len(p.pieces) != 0 {
			t.Fatal("a send queue that is used again is not empty")
		}
	}
	if spares.bytes != 0 {
		t.Errorf("%d bytes are said to be kept when nothing is", spares.bytes)
	}
}

// TestLastLine: a client is disconnected while it is being written to. The writer must send its
// last line before it closes the connection.
func TestLastLine(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s := &server{ready: make(chan *conn, 1)}
	c := &conn{server: s, net: near}
	c.Write([]byte("one\r\n"))
	c.flush(1 << 20)
	said := make(chan string)
	go func() {
		b, _ := io.ReadAll(far)
		said <- string(b)
	}()
	c.Write([]byte("ERROR :the end\r\n"))
	c.End()
	s.writers.Wait() // the writer has found nothing more to write
	c.flush(1 << 20)
	if got, want := <-said, "one\r\nERROR :the end\r\n"; got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
}

// TestLastLineOfALateWriter: the last line reaches a client that reads, although the writer got no
// core for longer than closeTimeout.
func TestLastLineOfALateWriter(t *testing.T) {
	t.Run("socket", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		far, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		raw, err := near.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		s := &server{ready: make(chan *conn, 1), written: make(chan struct{}, 1)}
		c := &conn{server: s, net: near, raw: raw}
		c.Write([]byte("ERROR :the end\r\n"))
		c.End()
		c.flush(1 << 20)
		_ = near.SetWriteDeadline(time.Unix(1, 0)) // has passed when the writer gets a core
		close(s.ready)
		s.deliver()
		if got, err := io.ReadAll(far); string(got) != "ERROR :the end\r\n" || err != nil {
			t.Errorf("the client got %q, %v", got, err)
		}
	})
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			c := &conn{server: &server{}, net: near}
			c.Write([]byte("one\r\n"))
			c.flush(1 << 20)
			synctest.Wait() // the writer writes
			c.Write([]byte("ERROR :the end\r\n"))
			c.End()
			c.flush(1 << 20)
			for _, want := range []string{"one\r\n", "ERROR :the end\r\n"} {
				time.Sleep(closeTimeout * 3 / 4)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(far, got); string(got) != want || err != nil {
					t.Errorf("the client got %q, %v; want %q", got, err, want)
				}
			}
		})
	})
}
