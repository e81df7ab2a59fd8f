// Package metrics has the metrics of a running server, and writes them in the text format of
// Prometheus (exposition 0.0.4).
//
// Counting is one atomic addition. Nothing is registered globally, so two servers in one process do
// not mix.
package metrics

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ContentType is the content type of Write's text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Set is the metrics of one server. Any goroutine may use it.
type Set struct {
	mu      sync.Mutex
	metrics []metric // by name
}

type metric struct {
	name, help, kind string
	write            func(b *bytes.Buffer, name string)
}

// A Counter only grows.
type Counter struct{ n atomic.Uint64 }

// Add counts n more.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Value returns the count.
func (c *Counter) Value() uint64 { return c.n.Load() }

// Counter adds a counter. By Prometheus' convention its name ends in _total.
func (s *Set) Counter(name, help string) *Counter {
	c := &Counter{}
	s.add(name, help, "counter",
		func(b *bytes.Buffer, name string) { fmt.Fprintf(b, "%s %d\n", name, c.Value()) })
	return c
}

// Gauge adds a metric that goes up and down. Write calls value.
func (s *Set) Gauge(name, help string, value func() float64) {
	s.add(name, help, "gauge",
		func(b *bytes.Buffer, name string) { fmt.Fprintf(b, "%s %s\n", name, number(value())) })
}

// Counters are a counter for each value of one label. The program defines the values; clients must
// not, since each takes memory.
type Counters struct {
	mu   sync.Mutex
	each map[string]*Counter
}

// Of returns the counter of a value.
func (c *Counters) Of(value string) *Counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.each[value]
	if n == nil {
		n = &Counter{}
		c.each[value] = n
	}
	return n
}

// Counters adds counters that differ in a label. The values that are passed here exist from the
// start, at 0.
func (s *Set) Counters(name, help, label string, values ...string) *Counters {
	c := &Counters{each: map[string]*Counter{}}
	for _, v := range values {
		c.Of(v)
	}
	s.add(name, help, "counter", func(b *bytes.Buffer, name string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range sorted(c.each) {
			fmt.Fprintf(b, "%s{%s=\"%s\"} %d\n", name, label, escape.Replace(v), c.each[v].Value())
		}
	})
	return c
}

// bounds are the upper bounds of a histogram's buckets in seconds, from the write to a fast disk to
// a time that nobody waits for.
var bounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
	10}

// A Histogram counts durations by bucket.
type Histogram struct {
	buckets [15]atomic.Uint64 // one for each bound, and one for the rest
	sum     atomic.Int64      // in nanoseconds
}

// Observe counts one duration.
func (h *Histogram) Observe(d time.Duration) {
	i, _ := slices.BinarySearch(bounds, d.Seconds())
	h.buckets[i].Add(1)
	h.sum.Add(int64(d))
}

// Histogram adds a histogram of durations. Its name ends in _seconds.
func (s *Set) Histogram(name, help string) *Histogram {
	h := &Histogram{}
	s.add(name, help, "histogram", func(b *bytes.Buffer, name string) {
		var n uint64
		for i, bound := range bounds {
			n += h.buckets[i].Load()
			fmt.Fprintf(b, "%s_bucket{le=\"%s\"} %d\n", name, number(bound), n)
		}
		n += h.buckets[len(bounds)].Load()
		fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n", name, n)
		fmt.Fprintf(b, "%s_sum %s\n%s_count %d\n", name,
			number(time.Duration(h.sum.Load()).Seconds()), name, n)
	})
	return h
}

// add inserts a metric by its name. A name that exists already is a mistake in the program.
func (s *Set) add(name, help, kind string, write func(*bytes.Buffer, string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, found := slices.BinarySearchFunc(s.metrics, name,
		func(f metric, name string) int { return strings.Compare(f.name, name) })
	if found {
		panic("metrics: " + name + " is there twice")
	}
	s.metrics = slices.Insert(s.metrics, at, metric{name, help, kind, write})
}

// Write writes all metrics, by name.
func (s *Set) Write(w io.Writer) error {
	s.mu.Lock()
	metrics := slices.Clone(s.metrics)
	s.mu.Unlock()
	var b bytes.Buffer
	for _, f := range metrics {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.name, help.Replace(f.help), f.name,
			f.kind)
		f.write(&b, f.name)
	}
	_, err := w.Write(b.Bytes())
	return err
}

var (
	escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	help   = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func sorted(m map[string]*Counter) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
