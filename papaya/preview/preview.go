// Package preview makes previews of the links in messages: it fetches the page of a link, and finds
// its title, description and image. The image is made small and kept here, so that the browser of
// a reader never asks a stranger's server for anything.
//
// Everything that comes from outside is hostile. Requests stay behind a fence (package fence), at
// each redirect anew, and are bounded in number, bytes and time. Of a page only text is kept, and
// of an image only what our own encoder has written.
package preview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"interleave/papaya/fence"
	"interleave/papaya/file"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/limit"
)

// A Preview is what clients are sent, as JSON.
type Preview struct {
	URL   string `json:"url"` // the link, as it was said
	Site  string `json:"site,omitempty"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`  // the page's description
	Image string `json:"image,omitempty"` // the token of its image
	// Width and Height are those of the image, in pixels.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
}

// Options are what a Service needs.
type Options struct {
	Fence fence.Fence
	Ports []uint16 // that links may name
	Base  string   // the URL of this server's page, without a slash at its end: it is not asked
	Agent string   // the header User-Agent
	// Private says whether links in private messages get previews, too.
	Private func() bool
	Images  *Images
	// Shrink makes an image small.
	Shrink func(ctx context.Context, image io.ReaderAt) (file.Thumbnail, error)
	// Publish adds a preview to its message. It is not stored if the message is gone.
	Publish func(ctx context.Context, l hall.Linked, preview string) (stored bool, err error)
	// Count is told the result of each link, one of Results.
	Count  func(result string)
	Logger *slog.Logger
	Now    func() time.Time
}

// The results of a link.
const (
	made    = "made"
	empty   = "empty"   // the page has nothing to show
	fenced  = "fenced"  // the fence has refused it, or a redirect of it
	refused = "refused" // such links are not followed: by their port, or with a password
	limited = "limited" // too many of one user or one host, or of all
	failed  = "failed"  // the page could not be fetched, or the message was removed meanwhile
)

// Results are all results of a link, as Options.Count is told them.
var Results = []string{made, empty, fenced, refused, limited, failed}

// Bounds of what is fetched. A user may cause ten previews at once, and then one in 10 s. A host is
// asked 20 times at once, and then once in a second. All are guesses.
const (
	workers    = 8 // previews that are made at a time: slow servers of one user take two of them
	queueSize  = 100
	userBurst  = 10
	userEvery  = 10 * time.Second
	hostBurst  = 20
	hostEvery  = time.Second
	timeInAll  = 15 * time.Second // for one preview: its page, redirects and image
	timeToTell = 10 * time.Second
)

// A Service makes previews. Any goroutine may call Offer.
type Service struct {
	Options
	transport    *http.Transport
	users, hosts *limit.Rate
	jobs         chan job
}

// A job is one link of a message.
type job struct {
	message hall.Linked
	link    string
}

// New returns a Service. Nothing is fetched before Run.
func New(o Options) *Service {
	return &Service{Options: o, transport: newTransport(o.Fence, nil),
		users: limit.NewRate(userBurst, userEvery, o.Now),
		hosts: limit.NewRate(hostBurst, hostEvery, o.Now), jobs: make(chan job, queueSize)}
}

// Offer takes a message that may have links. It never blocks.
func (s *Service) Offer(l hall.Linked) {
	if !l.Room && !s.Private() {
		return
	}
	who := "account " + irc.Lower(l.Account)
	if l.Account == "" {
		_, _, host := irc.SplitMask(l.Source)
		who = "host " + host
	}
	for _, link := range linksIn(l.Text) {
		u, err := s.judge(link)
		if errors.Is(err, errOwn) {
			continue // the page shows files by itself
		}
		if err != nil {
			s.Logger.Debug("a link gets no preview", "host", hostOf(u), "reason", err)
			s.Count(refused)
			continue
		}
		if _, ok := s.users.Take(who); !ok {
			s.Count(limited)
			continue
		}
		select {
		case s.jobs <- job{l, link}:
		default:
			s.Count(limited)
		}
	}
}

// Run makes previews until ctx ends. What has not been fetched then is forgotten.
func (s *Service) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case j := <-s.jobs:
					s.work(ctx, j)
				}
			}
		})
	}
	all.Wait()
}

// work makes one preview. The log of the server does not have the link: it may be a secret.
func (s *Service) work(ctx context.Context, j job) {
	within, cancel := context.WithTimeout(ctx, timeInAll)
	p, err := s.fetch(within, j.link)
	cancel()
	if err == nil {
		err = s.tell(ctx, j.message, p)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.Logger.Debug("a link has no preview", "reason", bare(err))
	}
	s.Count(resultOf(err))
}

// tell publishes a preview. The image goes if that fails.
func (s *Service) tell(ctx context.Context, l hall.Linked, p Preview) error {
	within, cancel := context.WithTimeout(ctx, timeToTell)
	defer cancel()
	text, err := p.encode()
	stored := false
	if err == nil {
		stored, err = s.Publish(within, l, text)
	}
	if err == nil && stored {
		return nil
	}
	if p.Image != "" {
		err = errors.Join(err, s.Images.Remove(p.Image))
	}
	if err == nil {
		err = errGone
	}
	return err
}

// The reasons why there is no preview.
var (
	errOwn     = errors.New("the link is of this server")
	errLink    = errors.New("the link is not followed")
	errNothing = errors.New("there is nothing to show")
	errMany    = errors.New("the host was asked too often")
	errGone    = errors.New("the message is gone, or the preview came too late")
)

// resultOf returns which of Results an error is.
func resultOf(err error) string {
	_, outside := errors.AsType[*fence.Error](err)
	switch {
	case err == nil:
		return made
	case outside:
		return fenced
	case errors.Is(err, errNothing):
		return empty
	case errors.Is(err, errLink), errors.Is(err, errOwn):
		return refused
	case errors.Is(err, errMany):
		return limited
	}
	return failed
}

// encode returns a preview as clients are sent it. What does not fit into a tag is left out.
func (p Preview) encode() (string, error) {
	for _, less := range []func(){func() {}, func() { p.Text = "" }, func() { p.Site = "" },
		func() { p.Title = "" }} {
		less()
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // it is no part of a page
		if err := e.Encode(p); err != nil {
			return "", err
		}
		if text := strings.TrimSpace(b.String()); len(irc.Escape(text)) <= hall.MaxPreview {
			return text, nil
		}
	}
	return "", errLink // its URL is too long
}

// ImageOf returns the token of the image of a preview that clients were sent; it may be empty.
func ImageOf(preview string) string {
	var p Preview
	if json.Unmarshal([]byte(preview), &p) != nil {
		return ""
	}
	return p.Image
}
