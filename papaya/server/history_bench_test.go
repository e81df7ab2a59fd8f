package server

import (
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
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/log"
	"interleave/papaya/search"
)

var (
	benchMessages = flag.Int("messages", 20_000, "how many messages BenchmarkHistory has")
	benchNoIndex  = flag.Bool("without-index", false, "BenchmarkHistory reads the text")
	benchData     = flag.String("data", "",
		"folder with the data of BenchmarkHistory, which is kept, and used if it is there")
)

// The people and rooms of the benchmark. Ann is the first account, and in all rooms. A fifth of the
// messages are private, of which one in ten is between ann and another. In each room the messages
// are half of those in the room before, down to one in a thousand.
const (
	benchAccounts = 200
	benchRooms    = 60
	benchWords    = 200_000 // the vocabulary; frequencies are those of Zipf's law
)

// A corpus says what people say.
type corpus struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newCorpus() *corpus {
	r := rand.New(rand.NewPCG(7, 7))
	return &corpus{r, rand.NewZipf(r, 1.1, 8, benchWords-1)}
}

var syllables = strings.Fields("ba ce di fo gu ka le mi no pu ra se ti vo wu za che shi tho")

// word returns a word of the vocabulary, of which the first ones are short.
func word(n uint64) string {
	var w strings.Builder
	for n++; n > 0; n /= uint64(len(syllables)) {
		w.WriteString(syllables[n%uint64(len(syllables))])
	}
	return w.String()
}

func (c *corpus) text() string {
	var words []string
	for range 3 + c.random.IntN(12) {
		words = append(words, word(c.zipf.Uint64()))
	}
	return strings.Join(words, " ")
}

func account(n int) string {
	if n == 0 {
		return "ann"
	}
	return fmt.Sprint("u", n)
}

func benchRoom(n int) string { return fmt.Sprint("#room", n) }

// message returns who says something, and to whom.
func (c *corpus) message() (from int, target string) {
	from = c.random.IntN(benchAccounts)
	if c.random.IntN(5) > 0 {
		room := 0
		for room < 10 && c.random.IntN(2) == 0 {
			room++
		}
		if room == 10 { // those in which people seldom talk
			room += c.random.IntN(benchRooms - 10)
		}
		return from, benchRoom(room)
	}
	switch c.random.IntN(20) {
	case 0:
		return 0, account(1 + c.random.IntN(benchAccounts-1))
	case 1:
		return 1 + c.random.IntN(benchAccounts-1), account(0)
	}
	return from, account(c.random.IntN(benchAccounts))
}

// makeHistory makes the data of a server with so many messages, and returns the size of its state.
func makeHistory(b *testing.B, folder string, messages int) (state int) {
	text, err := log.OpenText(folder)
	if err != nil {
		b.Fatal(err)
	}
	defer text.Close()
	h := hall.New(hall.Config{Server: "chat", Text: text}, 0)
	number, now := uint64(0), int64(1.7e12)
	batch := func(do func()) {
		number++
		now += 500
		h.Begin(hall.Batch{Server: "chat", Run: 1, Number: number, Time: now})
		do()
		at, lines := h.Lines()
		if err := text.Write(at, lines); err != nil {
			b.Fatal(err)
		}
	}
	apply := func(from int, kind byte, words string) {
		h.Apply(hall.Entry{Client: uint64(from + 1), Kind: kind, Data: []byte(words)}, nil, "")
	}
	say := func(from int, command string, params ...string) {
		h.Apply(hall.Entry{Client: uint64(from + 1), Kind: hall.Said},
			&irc.Message{Command: command, Params: params}, "")
	}
	batch(func() {
		for n := range benchAccounts {
			a := account(n)
			apply(n, hall.Enter, fmt.Sprintf("%s\n%s\nhost\n%s\n%s\n-\n\n+", a, a, a, a))
			for r := range benchRooms {
				say(n, "JOIN", benchRoom(r))
			}
		}
	})
	c := newCorpus()
	for done := 0; done < messages; {
		batch(func() {
			for range min(200, messages-done) {
				from, target := c.message()
				say(from, "PRIVMSG", target, c.text())
				done++
			}
		})
	}
	batch(func() {
		for n := range benchAccounts { // they have received everything, and stay in the rooms
			apply(n, hall.End, "+\nbye")
		}
	})
	saved, err := h.Save()
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
	for r := range benchRooms { // she may be there
		ann.Send("JOIN %s", benchRoom(r))
	}
	synced(ann)
	pings, stop := pingUntil(b, login(srv.connect(), "u7", "u7"))
	var pages, searches times
	c, ids := newCorpus(), hall.NewMsgids(testSecret, new(uint64))
	for b.Loop() {
		target := c.someTarget()
		pages.measure(b, func() {
			ann.Send("CHATHISTORY %s 100", c.page(target, ids, size))
			answered(b, ann)
		})
		searches.measure(b, func() {
			ann.Send("SEARCH %s :%s", target, c.question())
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

func (c *corpus) someTarget() string {
	if c.random.IntN(2) == 0 {
		return account(1 + c.random.IntN(benchAccounts-1))
	}
	return benchRoom(c.random.IntN(benchRooms))
}

// page returns the newest page of a target, or one before a message or a time.
func (c *corpus) page(target string, ids *hall.Msgids, size uint64) string {
	switch c.random.IntN(3) {
	case 0:
		return fmt.Sprintf("BEFORE %s msgid=%s", target, ids.Of(c.random.Uint64N(size)))
	case 1:
		ms := 1.7e12 + c.random.Int64N(int64(*benchMessages)*500/200+1)
		return fmt.Sprintf("BEFORE %s timestamp=%s", target,
			time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return "LATEST " + target + " *"
}

// question returns words of any frequency, parts of words, and words that nobody says.
func (c *corpus) question() string {
	switch c.random.IntN(4) {
	case 0:
		return word(c.zipf.Uint64())
	case 1:
		return word(c.random.Uint64N(benchWords)) + " " + word(c.zipf.Uint64())
	case 2:
		return word(benchWords + c.random.Uint64N(benchWords))
	}
	w := word(c.random.Uint64N(benchWords))
	return w[len(w)/3:]
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
