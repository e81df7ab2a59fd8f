package preview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/file"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/limit"
)

func newRate() *limit.Rate { return limit.NewRate(hostBurst, hostEvery, time.Now) }

// said is a message in a room.
func said(text string) hall.Linked {
	return hall.Linked{Target: "#tea", Room: true, Source: "ann!ann@host", Account: "ann", At: 7,
		Text: text}
}

// run makes the previews that were offered. It returns when so many links were counted.
func (r *trial) run(t *testing.T, links int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	counted := make(chan struct{}, 100)
	count := r.Count
	r.Count = func(result string) { count(result); counted <- struct{}{} }
	go func() { defer close(done); r.Run(ctx) }()
	for range links {
		<-counted
	}
	cancel()
	<-done
	r.Count = count
}

func TestService(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(picture(t, 64, 32))
		case "/empty":
			writePage(w, "")
		default:
			writePage(w, "<title>Tea "+q.URL.Path+"</title>")
		}
	})
	at := r.site.URL
	r.Offer(said("a " + at + "/1, b (" + at + "/image) <" + at + "/not> " + at + "/1"))
	r.run(t, 2)
	if len(r.published) != 2 || r.of(made) != 2 {
		t.Fatalf("published %q, %v", r.published, r.results)
	}
	slices.Sort(r.published)
	var p Preview
	if err := json.Unmarshal([]byte(r.published[0]), &p); err != nil || p.URL != at+"/1" ||
		p.Title != "Tea /1" {
		t.Errorf("published %+v, %v", p, err)
	}
	token := ImageOf(r.published[1])
	if _, _, ok := r.Images.find(token); !ok {
		t.Errorf("the image of %s is not there", r.published[1])
	}
	r.Offer(said(at + "/empty http://10.0.0.1/"))
	r.run(t, 2)
	if r.of(empty) != 1 || r.of(fenced) != 1 || len(r.published) != 2 {
		t.Errorf("counted %v", r.results)
	}
	r.gone = true
	r.Offer(said(at + "/image"))
	r.run(t, 1)
	if n, _ := r.Images.Usage(); n != 1 || r.of(failed) != 1 {
		t.Errorf("%d images, and %v: that of a removed message is left", n, r.results)
	}
	r.Publish = func(context.Context, hall.Linked, string) (bool, error) {
		return false, errors.New("the disk is full")
	}
	r.Offer(said(at + "/image"))
	r.run(t, 1)
	if n, _ := r.Images.Usage(); n != 1 || r.of(failed) != 2 {
		t.Errorf("%d images, and %v: that of a preview nobody got is left", n, r.results)
	}
}

// TestOffer: what is not to be fetched is not queued, and nobody waits.
func TestOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that rates stand still
		results, private := map[string]int{}, false
		s := New(Options{Ports: []uint16{80, 443}, Base: "https://chat.example",
			Private: func() bool { return private }, Now: time.Now,
			Count: func(result string) { results[result]++ }, Logger: discard()})
		queued := func() int {
			n := len(s.jobs)
			for range n {
				<-s.jobs
			}
			return n
		}
		for _, text := range []string{"https://chat.example/file/x", "http://x.example:22/",
			"http://a:b@x.example/", "<https://x.example/>", "no link", "https://"} {
			s.Offer(said(text))
		}
		if queued() > 0 || results[refused] != 2 {
			t.Errorf("counted %v", results)
		}
		direct := said("https://x.example/")
		direct.Room, direct.Target = false, "bob"
		if s.Offer(direct); queued() > 0 {
			t.Error("a private link is fetched")
		}
		private = true
		if s.Offer(direct); queued() != 1 {
			t.Error("no private link is fetched")
		}
		for range 20 { // one is counted already
			s.Offer(said("https://x.example/"))
		}
		if n := queued(); n != userBurst-1 || results[limited] != 20-n {
			t.Errorf("%d of one user are fetched, %v", n, results)
		}
		guest := said("https://x.example/")
		guest.Account = ""
		if s.Offer(guest); queued() != 1 {
			t.Error("another user is limited, too")
		}
		for i := range 2 * queueSize {
			other := said("https://x.example/")
			other.Account = strings.Repeat("x", i+1)
			s.Offer(other)
		}
		if n := queued(); n != queueSize {
			t.Errorf("%d wait", n)
		}
	})
}

// TestHostsAreAskedSeldom: many users together cannot have the server flood a host.
func TestHostsAreAskedSeldom(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, "<title>Tea</title>")
	})
	now := time.Now()
	r.hosts = limit.NewRate(hostBurst, hostEvery, func() time.Time { return now })
	last := error(nil)
	for range hostBurst + 1 {
		_, last = r.fetch(t.Context(), r.site.URL)
	}
	if resultOf(last) != limited || r.asked.Load() != hostBurst {
		t.Errorf("%d requests, %v", r.asked.Load(), last)
	}
}

// TestEncode: the longest preview fits into a tag.
func TestEncode(t *testing.T) {
	full := func(letter string) Preview {
		return Preview{URL: "http://x/", Site: strings.Repeat(letter, maxSite),
			Title: strings.Repeat(letter, maxTitle), Text: strings.Repeat(letter, maxText)}
	}
	for name, p := range map[string]Preview{
		"quotes": full(`"`), "backslashes": full(`\`), "semicolons": full(";"), "wide": full("𝕏"),
		"long":      {URL: "http://x/" + strings.Repeat("y", maxURL), Title: "t"},
		"separator": {URL: "http://x/", Title: "a\u2028b < > & c"},
	} {
		text, err := p.encode()
		var back Preview
		if err != nil || len(irc.Escape(text)) > hall.MaxPreview || strings.Contains(text, "\n") ||
			json.Unmarshal([]byte(text), &back) != nil || back.URL != p.URL ||
			back.Title != p.Title {
			t.Errorf("%s: %v, %s", name, err, text)
		}
		if irc.Unescape(irc.Escape(text)) != text {
			t.Errorf("%s changes as a tag", name)
		}
	}
	if _, err := (Preview{URL: strings.Repeat(";", hall.MaxPreview)}).encode(); err == nil {
		t.Error("a link that is too long is encoded")
	}
	for _, text := range []string{"", "{", "[]", `{"image":7}`, "null"} {
		if token := ImageOf(text); token != "" {
			t.Errorf("%q has the image %s", text, token)
		}
	}
}

// TestShrinkIsTheUploads: what uploads refuse is no image here.
func TestShrinkIsTheUploads(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture(t, 64, 32))
	})
	r.Shrink = func(context.Context, io.ReaderAt) (file.Thumbnail, error) {
		return file.Thumbnail{}, errors.New("too many pixels")
	}
	if _, err := r.fetch(t.Context(), r.site.URL); resultOf(err) != empty {
		t.Errorf("got %v", err)
	}
}
