package manifest

// Images: image services, to which clients upload and from which they fetch.

import (
	"errors"
	"fmt"
)

// Images is the protocol of image services: services/images/README.md.
const Images = "images"

// Cold is the shape of a client that asks a fresh server from its first request on: nothing is
// warmed up, and the time of each request is kept by its number.
const Cold Shape = "cold"

// The values of a load's Ask: what is fetched after each upload.
const (
	AskImage     = "image"     // the image, byte by byte
	AskThumbnail = "thumbnail" // which the server makes when it is first asked for
	AskUnchanged = "unchanged" // the image once, and then whether it has changed
)

var asks = []string{AskImage, AskThumbnail, AskUnchanged}

// The figures of image services. A response is an upload together with what is fetched then, as the
// client sees it: from its first byte sent to its last one read.
const (
	ResponseP50  Metric = "response-p50"  // microseconds
	ResponseP99  Metric = "response-p99"  //
	ResponseMean Metric = "response-mean" // the sum of the next three
	// of a response, mean: from a request's first byte to its last
	ToServer   Metric = "to-server"
	InServer   Metric = "in-server"   // from there to the answer's first
	FromServer Metric = "from-server" // from there to its last
	Database   Metric = "database"    // of the time in the server, what it says of itself; mean
	// likewise, what it waits for the service behind it; chains only
	Next Metric = "next"
	// next by the number of services behind: what one more costs a response
	Hop     Metric = "hop"
	PostP50 Metric = "post-p50" // of uploads alone
	GetP50  Metric = "get-p50"  // of each fetch alone
	// mean of the first responses of a fresh server; cold shape only
	First1    Metric = "first-1"
	First10   Metric = "first-10"   //
	First100  Metric = "first-100"  //
	First1000 Metric = "first-1000" //
	StartUp   Metric = "start-up"   // milliseconds from the server's start to its being ready
)

var imagesFamily = Family{
	Name:      "images",
	Protocols: []Protocol{{Name: Images}},
	shapes: []shapeRow{
		{shape: Closed, keys: "connections size requests pipeline read_share ask reads chain"},
		{shape: Open, keys: "connections size rate gaps read_share ask reads chain"},
		{shape: Cold, keys: "size requests ask reads chain",
			needs: []must{needConnections, needSize},
			enter: func(l *Load) { l.Connections = 1 }}, // so that requests have an order
	},
	keys: []loadKey{
		word("ask", asks, func(l *Load) *string { return &l.Ask }),
		amount("reads", counts, 1, mostReads, func(l *Load) *int { return &l.Reads }),
		swept("chain", counts, 1, mostChain, func(l *Load) *int { return &l.Chain }),
	},
	metrics: []metricRow{
		{ResponseP50, MetricInfo{"µs", "median response time", false,
			"had {ratio}x {b}'s median response time",
			"had a median response time of {ratio} µs"}, needsImages},
		{ResponseP99, MetricInfo{"µs", "99th percentile of response time", false,
			"had {ratio}x {b}'s 99th percentile of response time",
			"had a 99th percentile of response time of {ratio} µs"}, needsImages},
		{ResponseMean, MetricInfo{"µs", "mean response time", false,
			"had {ratio}x {b}'s mean response time",
			"had a mean response time of {ratio} µs"}, needsImages},
		{ToServer, MetricInfo{"µs", "mean time to the server", false,
			"had {ratio}x {b}'s time to the server",
			"had a mean time to the server of {ratio} µs"}, needsImages},
		{InServer, MetricInfo{"µs", "mean time in the server", false,
			"had {ratio}x {b}'s time in the server",
			"had a mean time in the server of {ratio} µs"}, needsImages},
		{FromServer, MetricInfo{"µs", "mean time from the server", false,
			"had {ratio}x {b}'s time from the server",
			"had a mean time from the server of {ratio} µs"}, needsImages},
		{Database, MetricInfo{"µs", "mean time in the database", false,
			"spent {ratio}x {b}'s time in the database",
			"spent {ratio} µs in the database"}, needsImages},
		{Next, MetricInfo{"µs", "mean time in the services behind", false,
			"spent {ratio}x {b}'s time in the services behind",
			"spent {ratio} µs in the services behind"}, needsChain},
		{Hop, MetricInfo{"µs", "mean time for each service behind", false,
			"spent {ratio}x {b}'s time in each service behind",
			"spent {ratio} µs in each service behind"}, needsChain},
		{PostP50, MetricInfo{"µs", "median time of an upload", false,
			"had {ratio}x {b}'s median time of an upload",
			"had a median time of an upload of {ratio} µs"}, needsImages},
		{GetP50, MetricInfo{"µs", "median time of a fetch", false,
			"had {ratio}x {b}'s median time of a fetch",
			"had a median time of a fetch of {ratio} µs"}, needsImages},
		{First1, MetricInfo{"µs", "first response of a fresh server", false,
			"took {ratio}x {b}'s time for its first response",
			"took {ratio} µs for its first response"}, needsCold},
		{First10, MetricInfo{"µs", "mean of the first 10 responses", false,
			"took {ratio}x {b}'s time for each of its first 10 responses",
			"took {ratio} µs for each of its first 10 responses"}, needsCold},
		{First100, MetricInfo{"µs", "mean of the first 100 responses", false,
			"took {ratio}x {b}'s time for each of its first 100 responses",
			"took {ratio} µs for each of its first 100 responses"}, needsCold},
		{First1000, MetricInfo{"µs", "mean of the first 1000 responses", false,
			"took {ratio}x {b}'s time for each of its first 1000 responses",
			"took {ratio} µs for each of its first 1000 responses"}, needsCold},
		{StartUp, MetricInfo{"ms", "time to start", false,
			"took {ratio}x {b}'s time to start",
			"took {ratio} ms to start"}, needsImages},
	},
	owns: func(l Load) bool { return l.Shape == Cold || l.Ask != "" || l.Chain > 0 },
	fits: func(l Load, protocol string) (key string, err error) {
		if err := l.onlySink(protocol); err != nil {
			return "output", err
		}
		return l.fitsImages(protocol)
	},
}

func needsImages(l Load) (needs string) {
	if l.Ask == "" {
		return "a point of an image service"
	}
	return ""
}

func needsChain(l Load) (needs string) {
	if l.Chain < 2 {
		return "a point with a chain of two services at least"
	}
	return ""
}

func needsCold(l Load) (needs string) {
	if l.Shape != Cold {
		return `a point of shape "cold"`
	}
	return ""
}

// The sizes that images can be made in are the load engine's, and so is how many fetches follow an
// upload at most.
const (
	leastImageBytes = 10_000
	mostImageBytes  = 150_000
	mostReads       = 1000
)

// mostChain is how many services a chain has at most: services/images/README.md.
const mostChain = 16

// checkChain sees to it that models which stand in a chain can be told the next one.
func (r *experimentReader) checkChain(p Point, s *Service, blamed map[int]bool) {
	for _, name := range r.ModelsAt(p) {
		m := s.Model(name)
		line := r.lineOf(p, "chain")
		if p.Load.Chain < 2 || m == nil || m.Holds("{next}") || blamed[line] {
			continue
		}
		blamed[line] = true
		r.d.fail(line,
			"point %q: services/%s/%s cannot stand in a chain: its run does not use {next}", p.Name,
			s.Name, name)
	}
}

// mostKeptBytes bounds what a cold load leaves on the disk.
const mostKeptBytes = 1 << 30

// fitsImages is fits for loads of which one half is an image service.
func (l Load) fitsImages(protocol string) (key string, err error) {
	switch {
	case protocol != Images && l.Shape == Cold:
		return "shape", fmt.Errorf("shape %q is for image services, and %s is none", l.Shape,
			protocol)
	case protocol != Images && l.Chain > 0:
		return "chain", errors.New("only an image service has a next one")
	case protocol != Images:
		return "ask", errors.New("only an image service is asked for images")
	case l.Shape != Closed && l.Shape != Open && l.Shape != Cold:
		return "shape",
			fmt.Errorf("shape %q and an image service do not go together: expected closed, open "+
				"or cold", l.Shape)
	case l.Ask == "":
		return "ask", fmt.Errorf("ask is missing: what is fetched after an upload, one of %v", asks)
	case l.Ask == AskUnchanged && l.Reads < 2:
		return "reads",
			errors.New("whether an image has changed is asked from the second fetch on: " +
				"expected reads of 2 at least")
	case l.Pipeline > 1:
		return "pipeline", errors.New("a client of an image service waits for each answer")
	case l.ReadShare > 0:
		return "read_share", errors.New("only a counter has reads")
	case l.SizeBytes < leastImageBytes || l.SizeBytes > mostImageBytes:
		return "size", fmt.Errorf("an image has %d to %d bytes, got %d", leastImageBytes,
			mostImageBytes, l.SizeBytes)
	case l.Shape == Cold && l.Requests == 0:
		return "requests",
			errors.New("requests is missing: how many a cold server is asked, such as 1000")
	case l.Shape == Cold && l.Requests*int64(l.SizeBytes) > mostKeptBytes:
		return "requests",
			fmt.Errorf("%d images of %d bytes are left on the disk: at most %d bytes may be",
				l.Requests, l.SizeBytes, mostKeptBytes)
	}
	return "", nil
}
