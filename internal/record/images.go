package record

// The figures of image services.

import (
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
)

// imageFigure returns a figure that only image services have; known tells that m is one.
func (c *Cell) imageFigure(m manifest.Metric) (v float64, ok, known bool) {
	if m == manifest.StartUp {
		v, ok = positive(float64(c.StartUp) / float64(time.Millisecond))
		return v, ok, true
	}
	t := c.Result.Images
	if t == nil {
		t = &load.ImageTimes{}
	}
	switch m {
	case manifest.ResponseP50:
		v, ok = micros(t.Response, .5)
	case manifest.ResponseP99:
		v, ok = micros(t.Response, .99)
	case manifest.ResponseMean:
		v, ok = meanMicros(1, t.Response)
	case manifest.PostP50:
		v, ok = micros(t.Post.Total, .5)
	case manifest.GetP50:
		v, ok = micros(t.Get.Total, .5)
	case manifest.ToServer:
		v, ok = c.ofResponse(t.Post.ToServer, t.Get.ToServer)
	case manifest.InServer:
		v, ok = c.ofResponse(t.Post.InServer, t.Get.InServer)
	case manifest.FromServer:
		v, ok = c.ofResponse(t.Post.FromServer, t.Get.FromServer)
	case manifest.Database:
		v, ok = c.ofResponse(t.Post.Database, t.Get.Database)
	case manifest.Next:
		v, ok = c.ofResponse(t.Post.Next, t.Get.Next)
	case manifest.Hop:
		v, ok = c.ofResponse(t.Post.Next, t.Get.Next)
		v /= float64(c.Load.Chain - 1) // two at least: else no load shows it
	case manifest.First1:
		v, ok = first(t, 1)
	case manifest.First10:
		v, ok = first(t, 10)
	case manifest.First100:
		v, ok = first(t, 100)
	case manifest.First1000:
		v, ok = first(t, 1000)
	default:
		return 0, false, false
	}
	return v, ok, true
}

// ofResponse is a mean over the upload and the fetches of a response, in microseconds.
func (c *Cell) ofResponse(post, get *hist.Histogram) (float64, bool) {
	a, ok := meanMicros(1, post)
	b, ok2 := meanMicros(float64(max(1, c.Load.Reads)), get)
	return a + b, ok && ok2
}

func meanMicros(times float64, h *hist.Histogram) (float64, bool) {
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return positive(times * h.Mean() / float64(time.Microsecond))
}

// first is the mean of the first n responses in microseconds, if so many are known.
func first(t *load.ImageTimes, n int) (float64, bool) {
	if len(t.FirstPost) < n || len(t.FirstGet) < n {
		return 0, false
	}
	var sum int64
	for i := range n {
		sum += t.FirstPost[i] + t.FirstGet[i]
	}
	return positive(float64(sum) / float64(n) / float64(time.Microsecond))
}
