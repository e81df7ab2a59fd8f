package timewait

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
)

func flowOf(port int) demux.Flow { return demux.Flow{LocalPort: 80, RemotePort: uint16(port)} }

func until(t tcp.Time) Remnant { return Remnant{Waiting: tcp.Waiting{Until: t}} }

// TestOrder holds that remnants leave in the order in which they came, one with a FIN that was sent
// again later, and that the memory of an empty table is given back.
func TestOrder(t *testing.T) {
	var w Table
	if _, ok := w.Deadline(); ok || w.EvictFirst() || w.Has(flowOf(1)) {
		t.Error("an empty table has something")
	}
	for i := 1; i <= 4; i++ {
		w.Add(flowOf(i), until(tcp.Time(10*i)))
	}
	w.Update(flowOf(2), tcp.Waiting{Until: 50})
	w.Update(flowOf(9), tcp.Waiting{Until: 50}) // is not there
	w.Remove(flowOf(3))
	if at, ok := w.Deadline(); !ok || at != 10 {
		t.Errorf("the first ends at %v, %v", at, ok)
	}
	if !w.EvictFirst() || w.Has(flowOf(1)) || !w.Has(flowOf(2)) {
		t.Error("another one than the first was evicted")
	}
	for _, step := range []struct {
		now  tcp.Time
		left []uint16
	}{{9, []uint16{2, 4}}, {20, []uint16{2, 4}}, {39, []uint16{2, 4}}, {40, []uint16{2}},
		{49, []uint16{2}}, {50, nil}} {
		w.Expire(step.now)
		var left []uint16
		for f := range w.Flows() {
			left = append(left, f.RemotePort)
		}
		if slices.Sort(left); !slices.Equal(left, step.left) {
			t.Errorf("at %v %v are left, want %v", step.now, left, step.left)
		}
	}
	if w.flows != nil || w.queue != nil {
		t.Error("an empty table keeps memory")
	}
}

// TestReplaced: the entry of a remnant that was removed does not remove another one of its flow.
func TestReplaced(t *testing.T) {
	var w Table
	w.Add(flowOf(1), until(10))
	w.Remove(flowOf(1))
	w.Add(flowOf(1), until(20))
	w.Expire(10)
	if r, ok := w.Get(flowOf(1)); !ok || r.Until != 20 || w.Len() != 1 {
		t.Errorf("%+v, %v, %d entries", r, ok, w.Len())
	}
	w.Add(flowOf(2), until(30))
	w.Remove(flowOf(1))
	w.EvictFirst()
	if w.Count() != 1 || !w.Has(flowOf(2)) {
		t.Error("the entry of one that has left evicts another one")
	}
}

func TestYields(t *testing.T) {
	var w Table
	cfg := &tcp.Config{TimeWait: time.Minute}
	begun := tcp.Time(time.Hour)
	left := tcp.Waiting{Until: begun.Add(time.Minute)}
	w.Add(flowOf(1), Remnant{Waiting: left})
	if !w.Yields(flowOf(2), cfg, begun) || w.Yields(flowOf(1), cfg, begun.Add(59*time.Second)) {
		t.Error("a flow without timestamps was given away, or a free one was not")
	}
	if w.Count() != 1 {
		t.Error("a remnant that does not yield is gone")
	}
}

// TestAgreesWithAMap does all things at random, and compares the table with a plain map.
func TestAgreesWithAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w Table
	there := map[uint16]tcp.Time{}
	now := tcp.Time(1)
	for range 50_000 {
		port := random.IntN(20)
		f, k := flowOf(port), uint16(port)
		switch random.IntN(6) {
		case 0, 1:
			if !w.Has(f) {
				w.Add(f, until(now.Add(100)))
				there[k] = now.Add(100)
			}
		case 2:
			w.Remove(f)
			delete(there, k)
		case 3:
			if w.Has(f) {
				w.Update(f, tcp.Waiting{Until: now.Add(100)})
				there[k] = now.Add(100)
			}
		default:
			now = now.Add(time.Duration(random.IntN(10)))
			w.Expire(now)
			for k, end := range there { // one with a second FIN may stay behind later ones
				if _, ok := w.Get(flowOf(int(k))); !ok && end <= now {
					delete(there, k)
				}
			}
		}
		if len(there) != w.Count() || w.Len() < w.Count() {
			t.Fatalf("%d remnants in %d entries, want %d", w.Count(), w.Len(), len(there))
		}
		for k, end := range there {
			if r, ok := w.Get(flowOf(int(k))); !ok || r.Until != end {
				t.Fatalf("port %d ends at %v, %v, want %v", k, r.Until, ok, end)
			}
		}
	}
}
