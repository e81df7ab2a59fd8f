package load

// Image services: their results, and their loads in words.

import (
	"cmp"
	"fmt"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Images are counted by clients of an image service. An operation is an upload, what is fetched
// then, and the deletion.
type Images struct {
	plain
	Operations int64 `json:"operations"`        // in the window
	Total      int64 `json:"total"`             // since the start, warm-up included
	Offered    int64 `json:"offered,omitempty"` // due in the window, open shape
	BytesOut   int64 `json:"bytes_out"`
	BytesIn    int64 `json:"bytes_in"`
	// from the due time of an operation to the last byte that was fetched, open shape
	Latency   *hist.Histogram `json:"latency,omitempty"`
	Operation *hist.Histogram `json:"operation,omitempty"` // from its first byte to its last
	// from the due time of an operation to when the engine takes it up, open shape
	Late *hist.Histogram `json:"late,omitempty"`
	ImageTimes
}

// ImageTimes are how long the requests of the window were. Times are in ns.
type ImageTimes struct {
	// of an operation: the upload and what was fetched then
	Response *hist.Histogram `json:"response"`
	Post     Split           `json:"post"`
	Get      Split           `json:"get"`
	// FirstPost and FirstGet are the times of a cold server's first requests, by number; an
	// operation's GETs are summed.
	FirstPost []int64 `json:"first_post,omitempty"`
	FirstGet  []int64 `json:"first_get,omitempty"`
}

// A Split is the time of requests and its parts.
type Split struct {
	Total      *hist.Histogram `json:"total"`
	ToServer   *hist.Histogram `json:"to_server"`
	InServer   *hist.Histogram `json:"in_server"`
	FromServer *hist.Histogram `json:"from_server"`
	// within InServer; empty if the server does not say
	Database *hist.Histogram `json:"database"`
	// likewise: how long it waited for the service behind it
	Next *hist.Histogram `json:"next"`
}

var imagesFamily = declare(Family{
	name:     "images",
	parts:    []func() Part{func() Part { return new(Images) }},
	words:    imagesWords,
	interval: openInterval,
	metrics: func(manifest.Load) []manifest.Metric {
		return []manifest.Metric{manifest.ResponseP50, manifest.ResponseP99, manifest.InServer,
			manifest.CPUPerRequest}
	},
})

func imagesWords(l manifest.Load) []string {
	then := "fetched"
	switch {
	case l.Ask == manifest.AskThumbnail:
		then = "its thumbnail fetched"
	case l.Ask == manifest.AskUnchanged:
		then = fmt.Sprintf("fetched, then %d times found unchanged", l.Reads-1)
	case l.Reads > 1:
		then = fmt.Sprintf("fetched %d times", l.Reads)
	}
	size := quantity.Trim(float64(l.SizeBytes)/1e3, 4) + quantity.Thin + "kB"
	words := []string{quantity.Many(l.Connections, "client"),
		"an image of " + size + " posted and " + then}
	if l.Chain > 1 {
		words = append(words, fmt.Sprintf("through a chain of %d services", l.Chain))
	}
	switch {
	case l.Shape == manifest.Open:
		return append(words, fmt.Sprintf("%s%sa second in open loop, %s gaps",
			quantity.Trim(l.Rate, 4), quantity.Thin, cmp.Or(l.Gaps, "constant")))
	case l.Shape == manifest.Cold:
		return append(words, quantity.Count(l.Requests)+" times, the first of a fresh server")
	case l.Requests > 0:
		return append(words, quantity.Count(l.Requests)+" times each")
	}
	return append(words, "in closed loop")
}

func newSplit() Split {
	return Split{&hist.Histogram{}, &hist.Histogram{}, &hist.Histogram{}, &hist.Histogram{},
		&hist.Histogram{}, &hist.Histogram{}}
}

// record adds a request whose answer has ended now.
func (s *Split) record(v *imageClient, now int64) {
	s.Total.Record(now - v.began)
	s.ToServer.Record(v.wrote - v.began)
	s.InServer.Record(max(0, v.first-v.wrote))
	s.FromServer.Record(now - max(v.first, v.wrote))
	if v.answer.database >= 0 {
		s.Database.Record(v.answer.database)
	}
	if v.answer.next >= 0 {
		s.Next.Record(v.answer.next)
	}
}

// add merges what another thread saw.
func (s *Split) add(o *Split) {
	merge([2]*hist.Histogram{s.Total, o.Total}, [2]*hist.Histogram{s.ToServer, o.ToServer},
		[2]*hist.Histogram{s.InServer, o.InServer}, [2]*hist.Histogram{s.FromServer, o.FromServer},
		[2]*hist.Histogram{s.Database, o.Database}, [2]*hist.Histogram{s.Next, o.Next})
}

func (*Images) kind() string { return "images" }

func (p *Images) add(other Part) {
	o := other.(*Images)
	p.Operations += o.Operations
	p.Total += o.Total
	p.Offered += o.Offered
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Latency, o.Latency}, [2]*hist.Histogram{p.Operation, o.Operation},
		[2]*hist.Histogram{p.Late, o.Late}, [2]*hist.Histogram{p.Response, o.Response})
	p.Post.add(&o.Post)
	p.Get.add(&o.Get)
	p.FirstPost, p.FirstGet = append(p.FirstPost, o.FirstPost...), append(p.FirstGet, o.FirstGet...)
}

// Served is how many operations there were.
func (p *Images) Served() int64 { return p.Operations }

// Kept counts by when operations were due: what was slow stands in the latencies.
func (p *Images) Kept() (served, due int64) { return counted(p.Latency), p.Offered }

// Latencies are from the due time of an operation to its last byte.
func (p *Images) Latencies() *hist.Histogram { return p.Latency }

// Lateness is from the due time of an operation to when the engine takes it up. A client that is
// busy may send later, and its server answers for that.
func (p *Images) Lateness() *hist.Histogram { return p.Late }

// Loop is of closed loads without an end.
func (p *Images) Loop(l manifest.Load) (inFlight int, took *hist.Histogram) {
	if l.Shape != manifest.Closed || l.Requests > 0 {
		return 0, nil
	}
	return l.Connections, p.Operation
}

// Lean is a copy without the histograms that no metric is computed of.
func (p *Images) Lean() Part {
	lean := *p
	lean.Operation, lean.Late = nil, nil
	return &lean
}

// Figure computes the times of responses and their parts.
func (p *Images) Figure(m manifest.Metric, l manifest.Load, _ time.Duration) (float64, bool) {
	switch m {
	case manifest.ResponseP50:
		return micros(p.Response, .5)
	case manifest.ResponseP99:
		return micros(p.Response, .99)
	case manifest.ResponseMean:
		return meanMicros(1, p.Response)
	case manifest.PostP50:
		return micros(p.Post.Total, .5)
	case manifest.GetP50:
		return micros(p.Get.Total, .5)
	case manifest.ToServer:
		return ofResponse(l, p.Post.ToServer, p.Get.ToServer)
	case manifest.InServer:
		return ofResponse(l, p.Post.InServer, p.Get.InServer)
	case manifest.FromServer:
		return ofResponse(l, p.Post.FromServer, p.Get.FromServer)
	case manifest.Database:
		return ofResponse(l, p.Post.Database, p.Get.Database)
	case manifest.Next:
		return ofResponse(l, p.Post.Next, p.Get.Next)
	case manifest.Hop:
		v, ok := ofResponse(l, p.Post.Next, p.Get.Next)
		return v / float64(l.Chain-1), ok // two at least: else no load shows it
	case manifest.First1:
		return p.first(1)
	case manifest.First10:
		return p.first(10)
	case manifest.First100:
		return p.first(100)
	case manifest.First1000:
		return p.first(1000)
	}
	return 0, false
}

// ofResponse is a mean over the upload and the fetches of a response, in microseconds.
func ofResponse(l manifest.Load, post, get *hist.Histogram) (float64, bool) {
	a, ok := meanMicros(1, post)
	b, ok2 := meanMicros(float64(max(1, l.Reads)), get)
	return a + b, ok && ok2
}

func meanMicros(times float64, h *hist.Histogram) (float64, bool) {
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return Positive(times * h.Mean() / float64(time.Microsecond))
}

// first is the mean of the first n responses in microseconds, if so many are known.
func (t *ImageTimes) first(n int) (float64, bool) {
	if len(t.FirstPost) < n || len(t.FirstGet) < n {
		return 0, false
	}
	var sum int64
	for i := range n {
		sum += t.FirstPost[i] + t.FirstGet[i]
	}
	return Positive(float64(sum) / float64(n) / float64(time.Microsecond))
}
