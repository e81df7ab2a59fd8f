package servers_test

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// A memory records the memory of a program while clients come and go.
type memory struct {
	begun   time.Time
	samples []sample
}

type sample struct {
	after       time.Duration
	connections int64
	kib         int
}

func (m *memory) add(connections int64, kib int) {
	m.samples = append(m.samples, sample{time.Since(m.begun), connections, kib})
}

func (m *memory) span() time.Duration {
	if len(m.samples) == 0 {
		return 0
	}
	return m.samples[len(m.samples)-1].after
}

// counting are the samples without the first third, in which the pools of a program fill.
func (m *memory) counting() []sample { return m.samples[len(m.samples)/3:] }

// slope is the growth of memory in bytes for each connection, by least squares.
func slope(all []sample) float64 {
	var x, y, xx, xy float64
	n := float64(len(all))
	for _, s := range all {
		c, b := float64(s.connections), float64(s.kib)*1024
		x, y, xx, xy = x+c, y+b, xx+c*c, xy+c*b
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return math.NaN()
}

func (m *memory) String() string {
	all := m.counting()
	if len(all) == 0 {
		return "no sample"
	}
	rate := float64(all[len(all)-1].connections) / m.span().Seconds()
	return fmt.Sprintf("%.0f a second, %v KiB at each tenth of the time, %.2f bytes a "+
		"connection after the first third",
		rate, m.tenths(), slope(all))
}

// tenths are the memory at the beginning and after each tenth of the samples, in KiB.
func (m *memory) tenths() []int {
	var all []int
	for i := range 11 {
		all = append(all, m.samples[i*(len(m.samples)-1)/10].kib)
	}
	return all
}

// The growth that a server may have, along the fitted line, over the samples that count. The
// smallest possible leak is a block of 16 bytes for each connection; the line may rise by an
// eighth of that. In a short run the pools are still filling: the worst of 64 runs of a second
// rose by 900 KiB, and by 2600 on a machine so busy that a ring allocated its next 1600 KiB of
// buffers late.
const (
	bytesEach = 2
	slackKiB  = 4096
)

// growth is the rise of the fitted line in KiB, and the allowed rise.
func (m *memory) growth() (kib, allowed float64) {
	seen := float64(m.seen())
	return slope(m.counting()) * seen / 1024, seen*bytesEach/1024 + slackKiB
}

// seen is the number of connections during the samples that count.
func (m *memory) seen() int64 {
	all := m.counting()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].connections - all[0].connections
}

func (m *memory) mustBeFlat(t *testing.T) {
	t.Helper()
	if n := len(m.counting()); n < 5 {
		t.Fatalf("%d samples are too few", n)
	}
	if kib, allowed := m.growth(); math.IsNaN(kib) || kib > allowed {
		t.Errorf("memory grows by %.0f KiB in %d connections, at most %.0f KiB are allowed", kib,
			m.seen(), allowed)
	}
}
