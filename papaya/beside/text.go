package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"interleave/papaya/corpus"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/log"
	"interleave/papaya/search"
)

// A text is Papaya's own: a batch is applied when JetStream has it, its lines go to the text, and
// the index follows. Questions are commands of ann, so their times have those of parsing commands
// and of making lines, which other stores do not make.
type text struct {
	*corpus.History
	stream *log.JetStream
	file   *log.Text
	index  *search.Index
	ann    hall.Client
	heard  ear
	stop   func()
	ended  chan struct{}
}

func openText(ctx context.Context, folder string) (store, error) {
	stream, err := log.Open(ctx, log.Options{Folder: filepath.Join(folder, "stream")})
	if err != nil {
		return nil, err
	}
	file, err := log.OpenText(folder)
	if err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	t := &text{stream: stream, file: file, ended: make(chan struct{}),
		ann: hall.Client{ID: 1, Host: "host"}}
	t.index = search.New(filepath.Join(folder, "search"), hall.Source(file),
		slog.New(slog.DiscardHandler))
	config := hall.Config{Server: "chat", Name: "chat", Index: t.index, Text: file}
	config.Read = func(c *hall.Client, r hall.Reading) {
		r.Run(ctx)
		t.Hall.Answer(c, r)
	}
	t.History = corpus.NewHistory(config, file)
	ctx, t.stop = context.WithCancel(ctx)
	go func() {
		t.index.Run(ctx)
		close(t.ended)
	}()
	return t, nil
}

func (t *text) fill(messages int) error {
	if err := errors.Join(t.Enter(), t.Fill(messages)); err != nil {
		return err
	}
	t.index.Grown(0, t.file.End())
	for { // the index leaves half of a core to others, so it is not there at once
		if _, _, lacks := t.index.Usage(); lacks < 1<<search.ChunkBits {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	t.Append = func(batch []byte) error {
		_, err := t.stream.Append(context.Background(), batch)
		return err
	}
	if err := t.Batch([]hall.Entry{corpus.Leaves(0)}); err != nil {
		return err
	}
	t.Hall.Connect(&t.ann, &t.heard)
	if err := t.Batch([]hall.Entry{corpus.Enters(0)}); err != nil {
		return err
	}
	if !t.ann.Registered() {
		return errors.New("ann could not enter")
	}
	t.say("CAP", "REQ", "batch server-time message-tags")
	return nil
}

func (t *text) append(said []corpus.Message) error {
	entries := make([]hall.Entry, len(said))
	for i, m := range said {
		entries[i] = m.Entry()
	}
	return t.Batch(entries)
}

// say has ann say a line, and hear the answer.
func (t *text) say(command string, params ...string) {
	t.heard = ear{}
	t.Hall.Line(&t.ann, &irc.Message{Command: command, Params: params})
}

func (t *text) page(target string, before int64) (int, error) {
	limit := fmt.Sprint(pageSize)
	if before == 0 {
		t.say("CHATHISTORY", "LATEST", target, "*", limit)
	} else {
		at := time.UnixMilli(before).UTC().Format("2006-01-02T15:04:05.000Z")
		t.say("CHATHISTORY", "BEFORE", target, "timestamp="+at, limit)
	}
	return t.heard.messages, t.heard.failure()
}

func (t *text) search(target string, words []string) (int, error) {
	t.say("SEARCH", target, strings.Join(words, " "))
	return t.heard.messages, t.heard.failure()
}

func (t *text) close() error {
	t.stop()
	<-t.ended
	return errors.Join(t.stream.Close(), t.file.Close())
}

// An ear counts the messages that ann hears.
type ear struct {
	messages int
	fail     string
}

func (e *ear) Write(line []byte) {
	switch {
	case bytes.Contains(line, []byte(" PRIVMSG ")):
		e.messages++
	case bytes.HasPrefix(line, []byte(":chat FAIL ")):
		e.fail = string(line)
	}
}

func (e *ear) WriteLater(line []byte)            { e.Write(line) }
func (e *ear) Share(run *hall.Run, from, to int) { e.Write(run.Part(from, to)) }
func (e *ear) Waiting() int                      { return 0 }
func (e *ear) End()                              {}
func (e *ear) failure() error {
	// A conversation that has no message is none that ann has.
	if e.fail == "" || strings.Contains(e.fail, "INVALID_TARGET") {
		return nil
	}
	return errors.New(strings.TrimSpace(e.fail))
}
