package link

import (
	"errors"
	"slices"
	"testing"

	"interleave/gonet/wire"
)

// hubFrame is a frame between two stations, with a tagged VLAN type that no stack takes.
func hubFrame(dst, src byte, text string) []byte {
	e := wire.Ethernet{Dst: wire.MAC{2, 5: dst}, Src: wire.MAC{2, 5: src}, Type: 0x88b5}
	if dst == 0xff {
		e.Dst = wire.Broadcast
	}
	b := make([]byte, wire.EthernetLen)
	e.Put(b)
	return append(b, text...)
}

// waiting returns the payloads that wait at a port.
func waiting(t *testing.T, p *Port) (texts []string) {
	t.Helper()
	batch := make([]Frame, 8)
	p.Interrupt()
	n, err := p.Read(batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range batch[:n] {
		texts = append(texts, string(f.Data[wire.EthernetLen:]))
	}
	if n > 0 { // the interruption is still there
		if m, err := p.Read(batch); m != 0 || err != nil {
			t.Fatalf("%d more frames, %v", m, err)
		}
	}
	return texts
}

func TestHubLearnsItsStations(t *testing.T) {
	h := NewHub(MTU(1400))
	a, b, c := h.Port(), h.Port(), h.Port()
	write := func(p *Port, frame []byte) {
		t.Helper()
		if err := p.Write(GSO{}, frame[:9], frame[9:]); err != nil {
			t.Error(err)
		}
	}
	expect := func(name string, p *Port, want ...string) {
		t.Helper()
		if got := waiting(t, p); !slices.Equal(got, want) {
			t.Errorf("%s got %q, want %q", name, got, want)
		}
	}
	write(a, hubFrame(2, 1, "unknown"))
	expect("b", b, "unknown")
	expect("c", c, "unknown")
	write(b, hubFrame(1, 2, "known"))
	expect("a", a, "known")
	expect("c", c)
	write(a, hubFrame(2, 1, "back"))
	write(c, hubFrame(0xff, 3, "to all"))
	expect("b", b, "back", "to all")
	expect("a", a, "to all")
	expect("c", c)
	write(c, hubFrame(3, 3, "to itself"))
	write(c, []byte("a short frame"))
	write(c, hubFrame(1, 2, "b has moved"))
	write(a, hubFrame(2, 1, "to its new port"))
	expect("c", c, "to its new port")
	expect("a", a, "b has moved")
	expect("b", b)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]Frame, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("a removed port reads %v", err)
	}
	if err := c.Write(GSO{}, hubFrame(1, 3, "x")); !errors.Is(err, ErrClosed) {
		t.Errorf("a removed port writes: %v", err)
	}
	write(a, hubFrame(3, 1, "to nobody that is known"))
	expect("b", b, "to nobody that is known")
	if a.Features().MTU != 1400 {
		t.Errorf("the features are %+v", a.Features())
	}
}

// TestHubForgetsForgedStations: source addresses that a port makes up do not fill the memory.
func TestHubForgetsForgedStations(t *testing.T) {
	h := NewHub()
	a, b := h.Port(), h.Port()
	for i := range 2 * maxStations {
		e := wire.Ethernet{Dst: wire.MAC{2, 5: 9},
			Src: wire.MAC{2, 3: byte(i >> 16), 4: byte(i >> 8), 5: byte(i)}}
		frame := make([]byte, wire.EthernetLen)
		e.Put(frame)
		if err := a.Write(GSO{}, frame); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(h.stations); n != maxStations {
		t.Errorf("%d stations are remembered, at most %d may be", n, maxStations)
	}
	if err := a.Close(); err != nil || len(h.stations) != 0 {
		t.Errorf("%d stations after the port was removed, %v", len(h.stations), err)
	}
	if err := b.Close(); err != nil || len(h.ports) != 0 {
		t.Errorf("%d ports are left, %v", len(h.ports), err)
	}
}

// TestAnEndClosesAlone holds that the other end of a pair goes on: what it writes is lost.
func TestAnEndClosesAlone(t *testing.T) {
	a, b := Pair()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(GSO{}, []byte("lost")); err != nil {
		t.Errorf("the other end writes: %v", err)
	}
	if a.Dropped() != 1 {
		t.Errorf("%d frames were lost, want 1", a.Dropped())
	}
	b.Interrupt()
	if n, err := b.Read(make([]Frame, 1)); n != 0 || err != nil {
		t.Errorf("the other end reads %d frames, %v", n, err)
	}
	if err := a.Write(GSO{}, []byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("the closed end writes: %v", err)
	}
	if _, err := a.Read(make([]Frame, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("the closed end reads: %v", err)
	}
}
