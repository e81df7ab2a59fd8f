package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"interleave/papaya/corpus"
)

// A store keeps messages in a folder. All that ann asks for is what Papaya's clients ask for.
type store interface {
	// fill stores so many messages of the corpus, as fast as it can. They are on the disk when it
	// returns, and can be found.
	fill(messages int) error
	// append stores messages that are said at one time. They are on the disk when it returns.
	append(said []corpus.Message) error
	// page returns how many messages it has read: at most pageSize, the newest before a time, with
	// a target of ann's. The time is in milliseconds since 1970; 0 is the end.
	page(target string, before int64) (int, error)
	// search returns how many messages with all words it has found, at most hits.
	search(target string, words []string) (int, error)
	close() error
}

// errNone is that of a store without a search.
var errNone = errors.New("this store has none")

const (
	pageSize = 100
	hits     = 50 // as Papaya's SEARCH has
)

// A kind of stores.
type kind struct {
	name, title string
	open        func(ctx context.Context, folder string) (store, error)
}

// stores are all that are compared. The first one is Papaya's own.
var stores = []kind{
	{"papaya", "JetStream, the text, and its index", openText},
	{"sqlite", "SQLite: WAL, synchronous=FULL, FTS5 with trigrams", openSQLite},
	{"bbolt", "bbolt: keys of conversation, time and number", openBolt},
	{"jetstream", "JetStream: a subject for each conversation, sequences in memory", openStream},
}

// In Papaya people enter before the first message, and ann leaves and returns after the last one,
// which is a batch each. Messages have the same times in all stores.
const (
	entered  = corpus.BeginTime + corpus.Between
	returned = 2 * corpus.Between
)

// conversation names the messages with a target, as a key: those of a room, or between two.
func conversation(from int, target string) string {
	if strings.HasPrefix(target, "#") {
		return target
	}
	a := corpus.Account(from)
	return min(a, target) + " " + max(a, target)
}

// fillBy stores the messages of the corpus by a function that stores some in one transaction, of
// which so many are said at one time.
func fillBy(store func(said []corpus.Message, perBatch int) error, messages int) error {
	c := corpus.NewFilling()
	for done := 0; done < messages; done += atOnce {
		said := make([]corpus.Message, min(atOnce, messages-done))
		for i := range said {
			said[i] = c.Message()
		}
		if err := store(said, corpus.PerBatch); err != nil {
			return err
		}
	}
	return nil
}

// A row is a message as a store returns it.
type row struct {
	time       int64
	from, text string
}

// A part is what is measured of a store in a round: medians and 99th percentiles in microseconds.
type part struct {
	Median, Worst float64 // of the time that passes
	CPU           float64 // the mean, of the process
	Found         int     // messages in all answers
}

// A result is what a round gives.
type result struct {
	Append, Page, Search part
	Bytes                int64 // on the disk
	Memory               int64 // bytes that are resident
	HasSearch            bool
}

// A filled is what filling gives.
type filled struct {
	Seconds, CPU float64
	Bytes        int64
}

// measure measures n steps.
func measure(n int, step func(i int) (found int, err error)) (p part, err error) {
	took, used := make([]float64, n), cpu()
	for i := range n {
		begun := time.Now()
		found, err := step(i)
		if err != nil {
			return p, err
		}
		took[i] = float64(time.Since(begun).Nanoseconds()) / 1e3
		p.Found += found
	}
	p.CPU = (cpu() - used).Seconds() * 1e6 / float64(n)
	slices.Sort(took)
	p.Median, p.Worst = took[n/2], took[(n-1)*99/100]
	return p, nil
}

// cpu returns the time of the processor that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for wrong arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A question is one of ann's.
type question struct {
	target string
	before int64
	words  []string
}

// questions returns those of a round. Trigrams find no part of a word with less than three letters,
// so there is none.
func questions(n, messages int, seed uint64) (all []question) {
	c := corpus.New(seed)
	for len(all) < n {
		q := question{target: c.Target(), words: strings.Fields(c.Question())}
		if c.Random.IntN(2) == 0 {
			q.before = corpus.BeginTime +
				c.Random.Int64N(corpus.EndTime(messages)-corpus.BeginTime+1)
		}
		if !slices.ContainsFunc(q.words, func(w string) bool { return len(w) < 3 }) {
			all = append(all, q)
		}
	}
	return all
}

// round measures a store once.
func round(s store, o options, seed uint64) (r result, err error) {
	c := corpus.New(seed)
	r.Append, err = measure(o.batches, func(int) (int, error) {
		said := make([]corpus.Message, o.size)
		for i := range said {
			said[i] = c.Message()
		}
		return len(said), s.append(said)
	})
	if err != nil {
		return r, fmt.Errorf("appending: %w", err)
	}
	asked := questions(o.questions, o.messages, seed)
	r.Page, err = measure(len(asked), func(i int) (int, error) {
		return s.page(asked[i].target, asked[i].before)
	})
	if err != nil {
		return r, fmt.Errorf("a page: %w", err)
	}
	r.Search, err = measure(len(asked), func(i int) (int, error) {
		return s.search(asked[i].target, asked[i].words)
	})
	r.HasSearch = !errors.Is(err, errNone)
	if err != nil && r.HasSearch {
		return r, fmt.Errorf("searching: %w", err)
	}
	r.Memory, err = resident()
	return r, err
}

// size returns how many bytes the files of a folder have.
func size(folder string) (bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// serve is the process of one store: it fills it, and measures a round for each line of its input.
func serve(ctx context.Context, o options, in *bufio.Scanner, out *json.Encoder) error {
	for _, of := range stores {
		if of.name != o.store {
			continue
		}
		s, err := of.open(ctx, o.folder)
		if err != nil {
			return err
		}
		return errors.Join(attend(s, o, in, out), s.close())
	}
	return usageError("there is no store " + o.store)
}

func attend(s store, o options, in *bufio.Scanner, out *json.Encoder) error {
	begun, used := time.Now(), cpu()
	if err := s.fill(o.messages); err != nil {
		return fmt.Errorf("filling: %w", err)
	}
	f := filled{Seconds: time.Since(begun).Seconds(), CPU: (cpu() - used).Seconds()}
	var err error
	if f.Bytes, err = size(o.folder); err != nil {
		return err
	}
	if err := out.Encode(f); err != nil {
		return err
	}
	for seed := uint64(1); in.Scan(); seed++ {
		r, err := round(s, o, seed)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return in.Err()
}
