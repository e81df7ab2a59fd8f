package main

import (
	"fmt"
	"strings"
	"time"
)

// An entry is the database's row of an image, with its bytes if they were asked for.
type entry struct {
	id            int64
	name          string
	picture       picture
	bytes         int64
	createdMS     int64
	content       []byte
	thumbnail     []byte // nil: not made yet
	thumbnailKind string
}

// An info is an entry as clients see it.
type info struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	Bytes     int64  `json:"bytes"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Created   string `json:"created"`
	URL       string `json:"url"`
	Thumbnail string `json:"thumbnail"`
}

// timeForm is the form of times in JSON.
const timeForm = "2006-01-02T15:04:05.000Z"

func (e entry) info() info {
	url := fmt.Sprintf("/images/%d", e.id)
	return info{e.id, e.name, e.picture.kind, e.bytes, e.picture.width, e.picture.height,
		time.UnixMilli(e.createdMS).UTC().Format(timeForm), url, url + "/thumbnail"}
}

// tag is strong: an id never comes back, and in another database it would have been made at
// another moment.
func (e entry) tag() string { return fmt.Sprintf(`"%d-%d"`, e.id, e.createdMS) }

func (e entry) thumbnailTag() string { return fmt.Sprintf(`"%d-%d-t"`, e.id, e.createdMS) }

// matches tells whether a list of tags, as in If-None-Match, has this one.
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// A page is a part of the list.
type page struct {
	Images []info  `json:"images"`
	Next   *string `json:"next"`
}

// newPage makes one of limit entries, or fewer, and of one more where more follow.
func newPage(entries []entry, limit int) page {
	p := page{Images: []info{}}
	for i, e := range entries {
		if i == limit {
			next := fmt.Sprintf("/images?limit=%d&before=%d", limit, entries[i-1].id)
			p.Next = &next
			break
		}
		p.Images = append(p.Images, e.info())
	}
	return p
}

// A clock adds up the parts of a request's time.
type clock struct {
	start          time.Time
	database, next time.Duration
	chained        bool // there is a next service to wait for
}

// String is the Server-Timing.
func (c *clock) String() string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	next := ""
	if c.chained {
		next = fmt.Sprintf("next;dur=%.3f, ", ms(c.next))
	}
	return fmt.Sprintf("db;dur=%.3f, %sall;dur=%.3f", ms(c.database), next, ms(time.Since(c.start)))
}

// spend runs a part of the request and adds its time.
func spend(on *time.Duration, part func() error) error {
	start := time.Now()
	defer func() { *on += time.Since(start) }()
	return part()
}
