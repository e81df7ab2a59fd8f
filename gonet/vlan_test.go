//go:build linux

package gonet

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// TestFramesOfAVLANAreForeign has Linux send frames on a VLAN of the tap: they are counted and
// reach no socket, unlike frames without a tag.
func TestFramesOfAVLANAreForeign(t *testing.T) {
	s := kernel(t)
	if out, err := exec.Command("ip", "link", "add", "link", device(t), "name", "five", "type",
		"vlan", "id", "5").CombinedOutput(); err != nil {
		t.Skipf("SKIP: no VLAN to be had, modprobe 8021q: %s", out)
	}
	run(t, "ip", "addr", "add", "10.9.5.1/24", "dev", "five")
	run(t, "ip", "link", "set", "five", "up")
	// The same packets as on the tap itself, except for the tag.
	run(t, "ip", "neigh", "add", "10.9.5.2", "lladdr", s.MAC().String(), "dev", "five")
	before := s.Stats().Foreign
	out := run(t, "sh", "-c", "ping -c 3 -i 0.01 -W 1 10.9.5.2 || true")
	if !strings.Contains(out, "100% packet loss") {
		t.Errorf("somebody answered on the VLAN:\n%s", out)
	}
	if got := s.Stats().Foreign - before; got < 3 {
		t.Errorf("%d frames were counted as foreign, want 3 at least", got)
	}
	// -w fails without three answers
	run(t, "ping", "-c", "3", "-i", "0.01", "-w", within, "10.9.0.2")
}

// TestTagsOfPriority holds that a frame with a priority tag is accepted: VLAN 0 means no VLAN (IEEE
// 802.1Q).
func TestTagsOfPriority(t *testing.T) {
	for tag, want := range map[uint16]bool{0: true, 7 << 13: true, 7<<13 | 1<<12: true, 1: false,
		7<<13 | 4095: false} {
		synctest.Test(t, func(t *testing.T) {
			a, b := link.Pair()
			s := host(t, a, "10.0.0.1/24")
			e := wire.Ethernet{Dst: wire.Broadcast, Src: wire.MAC{2, 9}, Type: wire.EtherARP,
				Tagged: true, Tag: tag}
			q := wire.ARP{Op: wire.ARPRequest, SenderMAC: e.Src,
				SenderIP: netip.MustParseAddr("10.0.0.2"),
				TargetIP: netip.MustParseAddr("10.0.0.1")}
			frame := make([]byte, e.Len()+wire.ARPLen)
			q.Put(frame[e.Put(frame):])
			before := s.Stats().Foreign
			if err := b.Write(link.GSO{}, frame); err != nil {
				t.Fatal(err)
			}
			if got := answers(t, b, wire.ARPReply); got != want {
				t.Errorf("tag %#x: answered %v, want %v", tag, got, want)
			}
			if got := s.Stats().Foreign > before; got == want {
				t.Errorf("tag %#x: counted as foreign: %v", tag, got)
			}
		})
	}
}

// answers tells whether an untagged ARP message arrives within 200 ms of fake time.
func answers(t *testing.T, b *link.End, op uint16) bool {
	t.Helper()
	stop := time.AfterFunc(200*time.Millisecond, b.Interrupt)
	defer stop.Stop()
	batch := make([]link.Frame, 1)
	for {
		n, err := b.Read(batch)
		if err != nil || n == 0 {
			return false
		}
		e, body, err := wire.ParseEthernet(batch[0].Data)
		if err != nil || e.Type != wire.EtherARP {
			continue
		}
		m, err := wire.ParseARP(body)
		if err == nil && m.Op == op && !e.Tagged {
			return true
		}
	}
}
