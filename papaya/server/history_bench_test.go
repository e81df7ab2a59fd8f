package server

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/corpus"
	"interleave/papaya/hall"
	"interleave/papaya/log"
	"interleave/papaya/search"
)

var (
	benchMessages = flag.Int("messages", 20_000, "how many messages BenchmarkHistory has")
	benchNoIndex  = flag.Bool("without-index", false, "BenchmarkHistory reads the text")
	benchData     = flag.String("data", "",
		"folder with the data of BenchmarkHistory, which is kept, and used if it is there")
)

// makeHistory makes the data of a server with so many messages, and returns the size of its state.
func makeHistory(b *testing.B, folder string, messages int) (state int) {
	text, err := log.OpenText(folder)
	if err != nil {
		b.Fatal(err)
	}
	defer text.Close()
	h := corpus.NewHistory(hall.Config{Server: "chat"}, text)
	if err := errors.Join(h.Enter(), h.Fill(messages), h.Leave()); err != nil {
		b.Fatal(err)
	}
	saved, err := h.Hall.Save()
	if err != nil {
		b.Fatal(err)
	}
	store, err := log.Open(b.Context(), log.Options{Folder: filepath.Join(folder, "stream")})
	if err == nil {
		err = store.SaveState(b.Context(), 0, saved)
		store.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return len(saved)
}

// times are how long something took, again and again, and the CPU time of the process meanwhile,
// which a busy machine changes less.
type times struct{ passed, used []time.Duration }

// report reports the medians and the 99th percentiles in microseconds.
func (t *times) report(b *testing.B, what string) {
	for unit, list := range map[string][]time.Duration{"µs": t.passed, "cpu-µs": t.used} {
		slices.Sort(list)
		for _, p := range []int{50, 99} {
			took := list[(len(list)-1)*p/100]
			b.ReportMetric(float64(took.Microseconds()), fmt.Sprint(what, "-p", p, "-", unit))
		}
	}
}

func (t *times) measure(b *testing.B, do func()) {
	begun, used := time.Now(), cpu(b)
	do()
	t.passed, t.used = append(t.passed, time.Since(begun)), append(t.used, cpu(b)-used)
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHistory measures pages of 100 messages and searches by one client, each as the client
// sees it, and PINGs of another client meanwhile. Before, it measures how fast the index is made.
// With ten million messages, which takes some minutes and 3 GB of the disk:
//
//	go test ./papaya/server -run '^$' -bench History -benchtime 1000x -messages 10000000
func BenchmarkHistory(b *testing.B) {
	folder, state := *benchData, 0
	if folder == "" {
		folder = b.TempDir()
	}
	if _, err := os.Stat(filepath.Join(folder, "log")); err != nil {
		state = makeHistory(b, folder, *benchMessages)
	}
	runtime.GC()
	begun, used := time.Now(), cpu(b)
	var x *search.Index
	var size uint64
	srv := open(b, folder, func(c *Config) {
		c.Accounts, c.Unique = everybody{}, "chat"
		c.AlwaysOn = func() bool { return true } // else they leave the rooms at the end
		size = c.Text.End()
		if !*benchNoIndex {
			x = search.New(filepath.Join(folder, "search"), hall.Source(c.Text),
				slog.New(slog.DiscardHandler))
			c.Index = x
		}
	})
	waitForIndex(x)
	made, worked := time.Since(begun), cpu(b)-used
	ann := login(srv.connect(), "ann", "ann")
	ann.Send("CAP REQ :batch server-time message-tags")
	ann.Expect(" ACK ")
	for r := range corpus.Rooms { // she may be there
		ann.Send("JOIN %s", corpus.Room(r))
	}
	synced(ann)
	pings, stop := pingUntil(b, login(srv.connect(), "u7", "u7"))
	var pages, searches times
	c, ids := corpus.New(7), hall.NewMsgids(testSecret, new(uint64))
	for b.Loop() {
		target := c.Target()
		pages.measure(b, func() {
			ann.Send("CHATHISTORY %s 100", page(c.Random, target, ids, size))
			answered(b, ann)
		})
		searches.measure(b, func() {
			ann.Send("SEARCH %s :%s", target, c.Question())
			answered(b, ann)
		})
	}
	stop()
	b.ReportMetric(float64(size)/1e6/made.Seconds(), "index-MB/s")
	b.ReportMetric(float64(size)/1e6/worked.Seconds(), "index-MB/cpu-s")
	pages.report(b, "page")
	searches.report(b, "search")
	pings.report(b, "ping")
	reportSizes(b, x, size, state)
}

// answered returns when a client has received the answer to a page or a search.
func answered(b *testing.B, c *irctest.Client) {
	lines := c.ExpectFunc("the end of a batch", func(l string) bool {
		return strings.Contains(l, "BATCH -") || strings.HasPrefix(l, ":chat FAIL ")
	})
	if l := lines[len(lines)-1]; strings.Contains(l, "FAIL ") {
		b.Fatalf("the answer is %q", l)
	}
}

// page returns the newest page of a target, or one before a message or a time.
func page(r *rand.Rand, target string, ids *hall.Msgids, size uint64) string {
	switch r.IntN(3) {
	case 0:
		return fmt.Sprintf("BEFORE %s msgid=%s", target, ids.Of(r.Uint64N(size)))
	case 1:
		ms := corpus.BeginTime + r.Int64N(corpus.EndTime(*benchMessages)-corpus.BeginTime+1)
		return fmt.Sprintf("BEFORE %s timestamp=%s", target,
			time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return "LATEST " + target + " *"
}

// pingUntil has a client send PINGs, until stop is called.
func pingUntil(b *testing.B, c *irctest.Client) (took *times, stop func()) {
	took = &times{}
	var end atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; !end.Load(); n++ {
			took.measure(b, func() {
				c.Send("PING %d", n)
				c.Expect(fmt.Sprint("PONG chat :", n))
			})
			time.Sleep(time.Millisecond)
		}
	}()
	return took, func() {
		end.Store(true)
		<-done
	}
}

func reportSizes(b *testing.B, x *search.Index, text uint64, state int) {
	files, memory, _ := x.Usage()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(text)/1e6, "text-MB")
	b.ReportMetric(float64(files)/1e6, "index-MB")
	b.ReportMetric(float64(memory)/1e6, "index-memory-MB")
	if state > 0 {
		b.ReportMetric(float64(state)/1e6, "state-MB")
	}
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
}
