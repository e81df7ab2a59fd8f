package link

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// contract checks what every Link must do. It runs for each kind that needs no privileges.
func contract(t *testing.T, make2 func() (Link, Link)) {
	t.Run("frames arrive whole, in order", func(t *testing.T) {
		a, b := make2()
		defer closeBoth(t, a, b)
		for i := range 10 {
			if err := a.Write(GSO{}, []byte{byte(i), 1}, []byte("abc"), nil,
				[]byte("d")); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < 10; {
			batch := make([]Frame, 4)
			n, err := b.Read(batch)
			if err != nil || n == 0 {
				t.Fatalf("%d frames, %v", n, err)
			}
			for _, f := range batch[:n] {
				if want := append([]byte{byte(i), 1}, "abcd"...); !bytes.Equal(f.Data, want) {
					t.Fatalf("frame %d: %q, want %q", i, f.Data, want)
				}
				i++
			}
		}
	})
	t.Run("an interrupt is not lost, and ends one read", func(t *testing.T) {
		a, b := make2()
		defer closeBoth(t, a, b)
		b.Interrupt()
		batch := make([]Frame, 1)
		if n, err := b.Read(batch); n != 0 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		done := make(chan error)
		go func() {
			n, err := b.Read(batch)
			if n != 0 {
				err = fmt.Errorf("%d frames", n)
			}
			done <- err
		}()
		time.Sleep(time.Millisecond) // so that it blocks, most times
		b.Interrupt()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := a.Write(GSO{}, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Read(batch); n != 1 || err != nil {
			t.Fatalf("after the interrupts: %d, %v", n, err)
		}
	})
	t.Run("close ends the read that blocks", func(t *testing.T) {
		a, b := make2()
		done := make(chan error)
		go func() {
			_, err := b.Read(make([]Frame, 1))
			done <- err
		}()
		time.Sleep(time.Millisecond)
		closeBoth(t, b, a) // a stream ends for the other end, too
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
		if err := b.Write(GSO{}, []byte("x")); !errors.Is(err, ErrClosed) {
			t.Fatalf("write: %v", err)
		}
	})
	t.Run("many write at once", func(t *testing.T) {
		a, b := make2()
		defer closeBoth(t, a, b)
		const writers, each = 8, 100
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for range each {
					if err := a.Write(GSO{}, bytes.Repeat([]byte{byte(i)}, 50+i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		batch := make([]Frame, 32)
		for got := 0; got < writers*each; {
			n, err := b.Read(batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range batch[:n] {
				if len(f.Data) < 50 || !bytes.Equal(f.Data,
					bytes.Repeat(f.Data[:1], 50+int(f.Data[0]))) {
					t.Fatalf("a torn frame: % x", f.Data)
				}
			}
			got += n
		}
		wg.Wait()
	})
}

func closeBoth(t *testing.T, a, b Link) {
	t.Helper()
	for _, l := range []Link{a, b} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPair(t *testing.T) {
	contract(t, func() (Link, Link) { return Pair() })
}

func TestLoopback(t *testing.T) {
	contract(t, func() (Link, Link) { l := Loopback(); return l, l })
}

func TestFaultsWithoutFaults(t *testing.T) {
	contract(t, func() (Link, Link) {
		a, b := Pair()
		return NewFaults(a, 1, Fault{}, Fault{}), NewFaults(b, 2, Fault{}, Fault{})
	})
}

func TestCaptureIsALink(t *testing.T) {
	contract(t, func() (Link, Link) {
		a, b := Pair()
		capture, err := NewCapture(b, "b", &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		return a, capture
	})
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	a, b := Pair()
	defer closeBoth(t, a, b)
	for range queueLen + 7 {
		if err := a.Write(GSO{}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Dropped(); got != 7 {
		t.Errorf("%d dropped, want 7", got)
	}
}

func TestOffloadedFramesStayWhole(t *testing.T) {
	a, b := Pair(Offload(), MTU(9000))
	defer closeBoth(t, a, b)
	if f := a.Features(); f.MTU != 9000 || !f.TCPv4 || f.MaxSuper != 65535 {
		t.Fatalf("%+v", f)
	}
	sent := GSO{Kind: TCPv4, Size: 1448, Header: 66, Partial: true, Start: 34, Offset: 16}
	if err := a.Write(sent, make([]byte, 60000)); err != nil {
		t.Fatal(err)
	}
	batch := make([]Frame, 1)
	if _, err := b.Read(batch); err != nil {
		t.Fatal(err)
	}
	if sent.Valid = true; batch[0].GSO != sent || len(batch[0].Data) != 60000 {
		t.Errorf("got %+v of %d bytes", batch[0].GSO, len(batch[0].Data))
	}
}

// faults sends frames, one a millisecond, and returns the numbers of those that arrived, in order,
// and when.
func faults(t *testing.T, n int, seed uint64,
	out Fault) (order []int, at []time.Duration, changed int) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pair()
		l := NewFaults(a, seed, Fault{}, out)
		start := time.Now()
		go func() {
			for i := range n {
				frame := append(make([]byte, 14), byte(i>>8), byte(i), 0xaa, 0xaa, 0xaa, 0xaa)
				if err := l.Write(GSO{}, frame[:3], frame[3:]); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Minute)
			closeBoth(t, l, b)
		}()
		batch := make([]Frame, 8)
		for {
			n, err := b.Read(batch)
			if err != nil {
				break
			}
			for _, f := range batch[:n] {
				if !bytes.Equal(f.Data[16:], []byte{0xaa, 0xaa, 0xaa, 0xaa}) {
					changed++
				}
				order = append(order, int(f.Data[14])<<8|int(f.Data[15]))
				at = append(at, time.Since(start))
			}
		}
		synctest.Wait()
	})
	return order, at, changed
}

func TestFaults(t *testing.T) {
	const n = 2000
	near := func(what string, got int, share float64) {
		t.Helper()
		if want := share * n; float64(got) < .8*want || float64(got) > 1.2*want {
			t.Errorf("%s: %d of %d, want about %.0f", what, got, n, want)
		}
	}
	order, _, _ := faults(t, n, 1, Fault{Loss: .1})
	near("lost", n-len(order), .1)
	again, _, _ := faults(t, n, 1, Fault{Loss: .1})
	if fmt.Sprint(order) != fmt.Sprint(again) {
		t.Error("one seed gave two runs")
	}
	order, _, _ = faults(t, n, 2, Fault{Duplicate: .2})
	near("duplicated", len(order)-n, .2)
	_, _, changed := faults(t, n, 3, Fault{Corrupt: .5})
	near("flipped in 32 of 48 bits", changed, .5*32/48)
	_, at, _ := faults(t, 100, 4, Fault{Delay: 30 * time.Millisecond})
	if at[0] != 30*time.Millisecond || at[99] != 129*time.Millisecond {
		t.Errorf("delayed frames came after %v and %v", at[0], at[99])
	}
	order, _, _ = faults(t, n, 5, Fault{Reorder: .1, Jitter: 5 * time.Millisecond})
	delayedFrame := 0
	for i := 1; i < len(order); i++ {
		if order[i] < order[i-1] {
			delayedFrame++
		}
	}
	near("overtaken", delayedFrame, .1)
	// 20 bytes at 2000 bytes a second take 10 ms; a frame is sent each millisecond, and 100 bytes
	// may wait.
	order, at, _ = faults(t, 100, 6, Fault{Bandwidth: 2000, Queue: 100})
	if last := at[len(at)-1]; len(order) < 10 || len(order) > 20 || last < 100*time.Millisecond ||
		last > 200*time.Millisecond {
		t.Errorf("through a narrow wire: %d frames, the last after %v", len(order), last)
	}
}
