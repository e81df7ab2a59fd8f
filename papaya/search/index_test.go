package search

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A paper is a text that has nothing but messages. Its methods may be called by any goroutine.
type paper struct {
	mu         sync.Mutex
	messages   []Message
	begin, end uint64
	random     *rand.Rand
}

func newPaper() *paper { return &paper{random: rand.New(rand.NewPCG(1, 2))} }

func (p *paper) Begin() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begin
}

func (p *paper) End() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

func (p *paper) Messages(chunk uint32, do func(Message)) (uint64, error) {
	p.mu.Lock()
	all, begin := slices.Clone(p.messages), p.begin
	p.mu.Unlock()
	start := uint64(chunk) << ChunkBits
	i, _ := slices.BinarySearchFunc(all, start, byOffset)
	for ; i < len(all) && all[i].At < start+1<<ChunkBits; i++ {
		if all[i].At >= begin {
			do(all[i])
		}
	}
	return begin, nil
}

func byOffset(m Message, at uint64) int {
	switch {
	case m.At < at:
		return -1
	case m.At > at:
		return 1
	}
	return 0
}

var vocabulary = strings.Fields("tea kettle cup leaf water milk sugar spoon pot steam black " +
	"green oolong assam ceylon sencha matcha earl grey lemon honey mint お茶 茶碗 grün 👍 :-) ... " +
	"don't")

// say adds a message of some bytes, which is about random things.
func (p *paper) say(size uint64) Message {
	var text []string
	for range 1 + p.random.IntN(5) {
		text = append(text, vocabulary[p.random.IntN(len(vocabulary))])
	}
	text = append(text, fmt.Sprint("number", len(p.messages)))
	m := Message{At: p.end, Time: 1000 + int64(len(p.messages)), Said: p.random.IntN(9) > 0,
		Name: fmt.Sprint("#", p.random.IntN(5)), Text: strings.Join(text, " ")}
	if m.Edit = m.Said && p.random.IntN(4) == 0; !m.Said {
		m.Text = ""
	}
	p.add(m, size)
	return m
}

func (p *paper) add(m Message, size uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, m)
	p.end += size
}

// fill adds messages until the text has so many chunks.
func (p *paper) fill(chunks uint64) {
	for p.end < chunks<<ChunkBits {
		p.say(300 + p.random.Uint64N(1500))
	}
}

// remove takes messages out of the text.
func (p *paper) remove(at ...uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = slices.DeleteFunc(slices.Clone(p.messages),
		func(m Message) bool { return slices.Contains(at, m.At) })
}

func (p *paper) cut(begin uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin = begin
	p.messages = slices.DeleteFunc(slices.Clone(p.messages),
		func(m Message) bool { return m.At < begin })
}

// quiet is for logs that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// settle works until nothing is left to do.
func settle(t *testing.T, x *Index) {
	t.Helper()
	for {
		did, err := x.work(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !did {
			return
		}
	}
}

// opened returns an index that has done all.
func opened(t *testing.T, folder string, p *paper) *Index {
	t.Helper()
	x := New(folder, p, quiet)
	t.Cleanup(x.close)
	settle(t, x)
	return x
}

// sizes returns how many chunks each segment has.
func (x *Index) sizes() (out []uint32) {
	for _, s := range x.list() {
		out = append(out, s.chunks)
	}
	return out
}

// check compares answers of the index with the text, for all full chunks of the text.
func check(t *testing.T, x *Index, p *paper) {
	t.Helper()
	v := x.View()
	defer v.Close()
	for chunk := uint32(p.begin >> ChunkBits); chunk < uint32(p.end>>ChunkBits); {
		part, there := v.Part(chunk)
		if !there {
			t.Fatalf("the index lacks the chunk %d", chunk)
		}
		checkPart(t, part, p)
		chunk = part.To
	}
}

func checkPart(t *testing.T, part Part, p *paper) {
	t.Helper()
	start, end := uint64(part.From)<<ChunkBits, uint64(part.To)<<ChunkBits
	from := start + p.random.Uint64N(end-start)
	to := from + p.random.Uint64N(end-from+1)
	names := []string{"#1", Events("#2"), Edits("#3"), "#none"}
	for _, b := range [][2]uint64{{start, end}, {from, to}, {0, 1 << 60}} {
		want := p.which(max(b[0], start), min(b[1], end), func(m Message) bool {
			return m.Name == "#1" && m.Said && !m.Edit || m.Name == "#2" && !m.Said ||
				m.Name == "#3" && m.Edit
		})
		for _, limit := range []int{1, 10, 1 << 20} {
			got, err := part.Offsets(names, b[0], b[1], limit, false)
			if n := min(limit, len(want)); err != nil || !slices.Equal(got, want[:n]) {
				t.Fatalf("%d offsets, %v, want %d", len(got), err, n)
			}
			got, err = part.Offsets(names, b[0], b[1], limit, true)
			if n := min(limit, len(want)); err != nil || !slices.Equal(got, want[len(want)-n:]) {
				t.Fatalf("%d of the newest offsets, %v, want %d", len(got), err, n)
			}
		}
		for range 5 {
			checkQuery(t, part, p, max(b[0], start), min(b[1], end))
		}
	}
}

// which returns the offsets of messages between two.
func (p *paper) which(from, to uint64, is func(Message) bool) (out []uint64) {
	for _, m := range p.messages {
		if from <= m.At && m.At < to && is(m) {
			out = append(out, m.At)
		}
	}
	return out
}

// checkQuery makes sure that a query leads to all messages with some parts of words, and that it
// leads only to messages of the text.
func checkQuery(t *testing.T, part Part, p *paper, from, to uint64) {
	t.Helper()
	var words []string
	for range 1 + p.random.IntN(3) {
		w := []rune(vocabulary[p.random.IntN(len(vocabulary))])
		i := p.random.IntN(len(w))
		words = append(words, string(w[i:i+1+p.random.IntN(len(w)-i)]))
	}
	if p.random.IntN(2) == 0 {
		words = append(words, fmt.Sprint("er", p.random.IntN(len(p.messages))))
	}
	q, err := part.Query([]string{"#1", Edits("#1"), "#3"}, words, from, to)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for {
		offsets, more, err := part.Next(q)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		got = append(slices.Clone(offsets), got...)
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Fatalf("the offsets are not in order: %v", got)
	}
	all := p.which(from, to, func(Message) bool { return true })
	for _, at := range got {
		if _, there := slices.BinarySearch(all, at); !there {
			t.Fatalf("no message is at %d", at)
		}
	}
	for _, at := range p.which(from, to, func(m Message) bool {
		return m.Said && (m.Name == "#1" || m.Name == "#3" && !m.Edit) &&
			!slices.ContainsFunc(words, func(w string) bool {
				return !strings.Contains(strings.ToLower(m.Text), w)
			})
	}) {
		if !slices.Contains(got, at) {
			t.Fatalf("the message at %d with %q is not found", at, words)
		}
	}
}

// TestSegmentsGrow: chunks become larger and larger files as the text grows, and answers are those
// of the text at each size. A start opens the files, and makes only what is lacking.
func TestSegmentsGrow(t *testing.T) {
	p, folder := newPaper(), t.TempDir()
	x := opened(t, folder, p)
	for _, chunks := range []uint64{1, 3, 16, 40, 129} {
		p.fill(chunks)
		settle(t, x)
		check(t, x, p)
	}
	if got := fmt.Sprint(x.sizes()); got != "[128 1]" {
		t.Errorf("the segments have %s chunks", got)
	}
	p.fill(150)
	x.close()
	x = opened(t, folder, p)
	check(t, x, p)
	if got := fmt.Sprint(x.sizes()); got != "[128 16 1 1 1 1 1 1]" {
		t.Errorf("after a start the segments have %s chunks", got)
	}
	if files, memory, lacks := x.Usage(); files == 0 || memory == 0 || lacks >= 1<<ChunkBits {
		t.Errorf("%d bytes in files, %d in memory, %d are lacking", files, memory, lacks)
	}
}

// TestTextOfNoLanguage: text all of whose words are new, as of somebody who floods a room, stays in
// small segments, so that no search and no merge has all of its words in memory.
func TestTextOfNoLanguage(t *testing.T) {
	p := newPaper()
	for p.end < 17<<ChunkBits {
		var words []string
		for range 10 {
			words = append(words, fmt.Sprintf("%016x", p.random.Uint64()))
		}
		p.add(Message{At: p.end, Time: 1000 + int64(len(p.messages)), Name: "#1", Said: true,
			Text: strings.Join(words, " ")}, 1000)
	}
	x := New(t.TempDir(), p, quiet)
	t.Cleanup(x.close)
	x.mostTerms = 100_000
	settle(t, x)
	check(t, x, p)
	if got := x.sizes(); len(got) != 17 || slices.Max(got) != 1 {
		t.Errorf("the segments have %v chunks", got)
	}
	for _, s := range x.list() {
		if n := termBytes([]*segment{s}); n > x.mostTerms {
			t.Errorf("the terms of %d chunks take %d bytes", s.chunks, n)
		}
	}
}

// TestTextIsCut: messages before the text's beginning leave the index, also if the beginning was
// changed while no server ran.
func TestTextIsCut(t *testing.T) {
	p, folder := newPaper(), t.TempDir()
	p.fill(40)
	x := opened(t, folder, p)
	for _, part := range []int{9, 2} {
		p.cut(p.messages[len(p.messages)/part].At)
		settle(t, x)
		check(t, x, p)
	}
	x.close()
	p.cut(p.messages[len(p.messages)/2].At)
	x = opened(t, folder, p)
	check(t, x, p)
	for _, s := range x.list() {
		if s.first < p.begin {
			t.Errorf("a segment begins at %d, before %d", s.first, p.begin)
		}
	}
	if holds(t, folder, "\nnumber1\n") {
		t.Error("the files still have a message that was cut off")
	}
	p.cut(p.end)
	settle(t, x)
	if got := x.sizes(); len(got) > 0 {
		t.Errorf("of a text without messages there are segments of %v chunks", got)
	}
}

// TestACutIsHeard: what is cut off leaves the index at once, also if nobody says anything more.
func TestACutIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaper()
		p.fill(40)
		x := New(t.TempDir(), p, quiet)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { x.Run(ctx) })
		time.Sleep(time.Hour)
		p.cut(p.messages[len(p.messages)/2].At)
		x.Cut()
		time.Sleep(time.Hour)
		for _, s := range x.list() {
			if s.first < p.begin {
				t.Errorf("%d chunks have messages from %d on, and the text from %d", s.chunks,
					s.first, p.begin)
			}
		}
		check(t, x, p)
		stop()
		running.Wait()
	})
}

// TestWhileItGrows reads the index while another goroutine makes it, and a third removes messages.
func TestWhileItGrows(t *testing.T) {
	p := newPaper()
	p.fill(8)
	x := New(t.TempDir(), p, quiet)
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { x.Run(t.Context()) })
	all.Go(func() {
		defer close(done)
		for i := range 60 {
			before := p.End()
			p.fill(uint64(8 + i))
			x.Grown(before, p.End())
			at := p.messages[i].At
			p.remove(at)
			x.Removed(at)
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		v := x.View()
		if part, there := v.Part(3); there {
			q, err := part.Query([]string{"#1"}, []string{"ea"}, 0, 1<<60)
			for more := err == nil; more && err == nil; {
				_, more, err = part.Next(q)
			}
			if err != nil {
				t.Error(err)
			}
		}
		v.Close()
	}
	t.Cleanup(all.Wait)
}
