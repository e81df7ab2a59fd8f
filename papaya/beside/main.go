// Command beside compares the store of Papaya's messages with others that a chat could have:
// SQLite, bbolt and JetStream alone. Each keeps the same messages, in a process of its own, and
// answers the same questions. In each round the stores take turns. Docs/decisions/0020 has what
// came out. It runs on Linux:
//
//	go run -tags=libsqlite3 ./papaya/beside -messages 1000000
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// atOnce is how many messages are in a transaction while a store is filled.
const atOnce = 10_000

func main() {
	log.SetFlags(0)
	log.SetPrefix("beside: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := start(ctx, os.Args[1:], os.Stdin, os.Stdout)
	if err == nil {
		return
	}
	log.Print(err)
	if _, isUsage := errors.AsType[usageError](err); isUsage {
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is an error of the words on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// options are the words on the command line.
type options struct {
	messages  int
	batches   int
	size      int
	questions int
	rounds    int
	chosen    []string
	folder    string
	store     string // set in the process of a store
}

func parse(words []string) (o options, err error) {
	f := flag.NewFlagSet("beside", flag.ContinueOnError)
	var said bytes.Buffer
	f.SetOutput(&said)
	f.IntVar(&o.messages, "messages", 100_000, "how many messages each store has before")
	f.IntVar(&o.batches, "batches", 200, "how many batches are appended in a round")
	f.IntVar(&o.size, "size", 16, "how many messages a batch has")
	f.IntVar(&o.questions, "questions", 300, "how many pages and searches a round has")
	f.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	f.StringVar(&o.folder, "folder", os.TempDir(), "where the stores are, until the end")
	f.StringVar(&o.store, "store", "", "used by beside itself: be the process of this store")
	f.Usage = func() {
		fmt.Fprintln(&said, "usage: beside [-messages N] [-rounds N] [STORE...], of:")
		for _, s := range stores {
			fmt.Fprintf(&said, "  %-10s %s\n", s.name, s.title)
		}
		f.PrintDefaults()
	}
	if err := f.Parse(words); err != nil {
		return o, usageError(strings.TrimSpace(said.String()))
	}
	if min(o.messages, o.batches, o.size, o.questions, o.rounds) < 1 {
		return o, usageError("numbers must be 1 or more")
	}
	for _, name := range f.Args() {
		if !slices.ContainsFunc(stores, func(s kind) bool { return s.name == name }) {
			return o, usageError("there is no store " + name)
		}
	}
	o.chosen = f.Args()
	for _, s := range stores {
		if len(f.Args()) == 0 {
			o.chosen = append(o.chosen, s.name)
		}
	}
	return o, nil
}

func start(ctx context.Context, words []string, in io.Reader, out io.Writer) error {
	o, err := parse(words)
	if err != nil {
		return err
	}
	if o.store != "" {
		return serve(ctx, o, bufio.NewScanner(in), json.NewEncoder(out))
	}
	if o.folder, err = os.MkdirTemp(o.folder, "papaya-beside-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.folder)
	return compare(ctx, o, out)
}

// A child is the process of a store.
type child struct {
	name   string
	cmd    *exec.Cmd
	ask    io.WriteCloser
	answer *json.Decoder
	filled filled
	rounds []result
}

// compare measures all chosen stores, and prints the table.
func compare(ctx context.Context, o options, out io.Writer) (err error) {
	var all []*child
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.end())
		}
	}()
	for _, name := range o.chosen {
		c, err := startChild(ctx, o, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, c)
		if err := c.answer.Decode(&c.filled); err != nil {
			return c.lost(err)
		}
	}
	for n := range o.rounds {
		for i := range all {
			c := all[(i+n)%len(all)]
			if _, err := io.WriteString(c.ask, "round\n"); err != nil {
				return c.lost(err)
			}
			var r result
			if err := c.answer.Decode(&r); err != nil {
				return c.lost(err)
			}
			c.rounds = append(c.rounds, r)
		}
	}
	_, err = io.WriteString(out, table(o, all))
	return err
}

func startChild(ctx context.Context, o options, name string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(o.folder, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	c := &child{name: name, cmd: exec.CommandContext(ctx, self, "-store", name, "-folder", folder,
		"-messages", fmt.Sprint(o.messages), "-batches", fmt.Sprint(o.batches),
		"-size", fmt.Sprint(o.size), "-questions", fmt.Sprint(o.questions))}
	c.cmd.Stderr = os.Stderr
	if c.ask, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	answer, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.answer = json.NewDecoder(answer)
	return c, c.cmd.Start()
}

// lost is the error of a child that has not answered. It has said why.
func (c *child) lost(err error) error { return fmt.Errorf("%s has ended: %w", c.name, err) }

func (c *child) end() error {
	_ = c.ask.Close() // it ends then, or has ended
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// batch is the row of batches that are appended.
const batch = "batch on the disk"

// table is the result as Markdown. Each figure is the median of the rounds.
func table(o options, all []*child) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages; %d rounds, each of %d batches of %d messages, %d pages of %d "+
		"and %d searches; microseconds.\n\n", o.messages, o.rounds, o.batches, o.size, o.questions,
		pageSize, o.questions)
	b.WriteString("| |")
	for _, c := range all {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(all)+1) + "\n")
	line := func(name string, of func(c *child) string) {
		b.WriteString("| " + name + " |")
		for _, c := range all {
			b.WriteString(" " + of(c) + " |")
		}
		b.WriteString("\n")
	}
	rows := func(name string, of func(r result) part, there func(r result) bool) {
		figure := func(of func(r result) float64) func(c *child) string {
			return func(c *child) string {
				if !there(c.rounds[0]) {
					return "none"
				}
				return fmt.Sprintf("%.0f", median(c.rounds, of))
			}
		}
		line(name+", median", figure(func(r result) float64 { return of(r).Median }))
		line(name+", 99 %", figure(func(r result) float64 { return of(r).Worst }))
		line(name+", CPU", figure(func(r result) float64 { return of(r).CPU }))
		if name != batch {
			found := func(r result) float64 { return float64(of(r).Found) }
			line(name+", messages found", figure(found))
		}
	}
	always := func(result) bool { return true }
	rows(batch, func(r result) part { return r.Append }, always)
	rows("page", func(r result) part { return r.Page }, always)
	rows("search", func(r result) part { return r.Search },
		func(r result) bool { return r.HasSearch })
	line("memory, MB", func(c *child) string {
		return fmt.Sprintf("%.0f", median(c.rounds, func(r result) float64 {
			return float64(r.Memory) / 1e6
		}))
	})
	line("on the disk, MB", func(c *child) string {
		return fmt.Sprintf("%.0f", float64(c.filled.Bytes)/1e6)
	})
	line("filling, s", func(c *child) string { return fmt.Sprintf("%.1f", c.filled.Seconds) })
	line("filling, s of CPU", func(c *child) string { return fmt.Sprintf("%.1f", c.filled.CPU) })
	return b.String()
}

func median(rounds []result, of func(result) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// resident returns how many bytes of memory the process has, after a collection.
func resident() (int64, error) {
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var pages, mine int64
	if _, err := fmt.Sscan(string(statm), &pages, &mine); err != nil {
		return 0, err
	}
	return mine * int64(os.Getpagesize()), nil
}
