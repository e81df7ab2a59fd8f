package gonet

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// armed returns how many connections of a stack have an alarm, and how many have none yet.
func armed(t *testing.T, s *Stack) (set, unset int) {
	t.Helper()
	if err := s.claim(func() {
		s.tcp.alarms.mu.Lock()
		defer s.tcp.alarms.mu.Unlock()
		set, unset = len(s.tcp.alarms.heap), len(s.tcp.unarmed.conns)
	}); err != nil {
		t.Fatal(err)
	}
	return set, unset
}

// TestAlarmsOfNewConnections holds that a connection has its alarm soon after it was made, and not
// before, and that nothing is left of it when it has ended.
func TestAlarmsOfNewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		x, y := host6(t, a, "1", quiet), host6(t, b, "2", quiet)
		near, far := connected(t, x, y, "10.0.0.2")
		synctest.Wait()
		for _, s := range []*Stack{x, y} {
			if set, unset := armed(t, s); set != 0 || unset != 1 {
				t.Errorf("at first %d alarms are set, and %d are not", set, unset)
			}
		}
		time.Sleep(unarmedTime)
		synctest.Wait()
		for _, s := range []*Stack{x, y} {
			if set, unset := armed(t, s); set != 1 || unset != 0 {
				t.Errorf("later %d alarms are set, and %d are not", set, unset)
			}
		}
		closeConns(t, near, far)
		empty(t, 0, x, y)
		for _, s := range []*Stack{x, y} {
			if set, unset := armed(t, s); set != 0 || unset != 0 {
				t.Errorf("at the end %d alarms are set, and %d are not", set, unset)
			}
		}
	})
}

// TestUnarmedAgreesWithAMap puts connections on the list and removes them at random.
func TestUnarmedAgreesWithAMap(t *testing.T) {
	var u unarmed
	there := map[*Conn]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	conns := make([]*Conn, 50)
	for i := range conns {
		conns[i] = &Conn{}
	}
	for range 10_000 {
		c := conns[random.IntN(len(conns))]
		if there[c] || random.IntN(3) == 0 {
			u.remove(c)
			delete(there, c)
		} else {
			u.add(c)
			there[c] = true
		}
		if len(u.conns) != len(there) {
			t.Fatalf("%d connections, want %d", len(u.conns), len(there))
		}
		for i, c := range u.conns {
			if !there[c] || int(c.dealer.unarmed) != i+1 {
				t.Fatalf("at %d is one that has left, or whose index is %d", i, c.dealer.unarmed)
			}
		}
	}
}
