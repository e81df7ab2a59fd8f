package metrics

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	var s Set
	s.Gauge("papaya_rooms", "Rooms\nnow.", func() float64 { return 2.5 })
	c := s.Counter("papaya_messages_total", "Messages.")
	l := s.Counters("papaya_logins_total", "Logins.", "result", "failed", "ok")
	h := s.Histogram("papaya_append_seconds", "Writes.")
	c.Add(3)
	l.Of("ok").Add(1)
	l.Of("od\"d").Add(2)
	h.Observe(time.Millisecond) // the upper bound belongs to its bucket
	h.Observe(3 * time.Second)
	h.Observe(time.Minute)
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `# HELP papaya_append_seconds Writes.
# TYPE papaya_append_seconds histogram
papaya_append_seconds_bucket{le="0.0005"} 0
papaya_append_seconds_bucket{le="0.001"} 1
papaya_append_seconds_bucket{le="0.0025"} 1
papaya_append_seconds_bucket{le="0.005"} 1
papaya_append_seconds_bucket{le="0.01"} 1
papaya_append_seconds_bucket{le="0.025"} 1
papaya_append_seconds_bucket{le="0.05"} 1
papaya_append_seconds_bucket{le="0.1"} 1
papaya_append_seconds_bucket{le="0.25"} 1
papaya_append_seconds_bucket{le="0.5"} 1
papaya_append_seconds_bucket{le="1"} 1
papaya_append_seconds_bucket{le="2.5"} 1
papaya_append_seconds_bucket{le="5"} 2
papaya_append_seconds_bucket{le="10"} 2
papaya_append_seconds_bucket{le="+Inf"} 3
papaya_append_seconds_sum 63.001
papaya_append_seconds_count 3
# HELP papaya_logins_total Logins.
# TYPE papaya_logins_total counter
papaya_logins_total{result="failed"} 0
papaya_logins_total{result="od\"d"} 2
papaya_logins_total{result="ok"} 1
# HELP papaya_messages_total Messages.
# TYPE papaya_messages_total counter
papaya_messages_total 3
# HELP papaya_rooms Rooms\nnow.
# TYPE papaya_rooms gauge
papaya_rooms 2.5
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestManyCountAtOnce(t *testing.T) {
	var s Set
	c, l, h := s.Counter("a_total", ""), s.Counters("b_total", "", "x"),
		s.Histogram("c_seconds", "")
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range 1000 {
				c.Add(1)
				l.Of("y").Add(1)
				h.Observe(time.Second)
			}
		})
	}
	for range 10 {
		_ = s.Write(&strings.Builder{})
	}
	done.Wait()
	var b strings.Builder
	_ = s.Write(&b)
	for _, want := range []string{"a_total 4000\n", "b_total{x=\"y\"} 4000\n",
		"c_seconds_count 4000\n", "c_seconds_sum 4000\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteSaysWhatFails(t *testing.T) {
	var s Set
	s.Counter("a_total", "")
	if err := s.Write(full{}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
