package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/papaya/config"
	"interleave/papaya/log"
)

// inIndex says whether a file of a data folder's index has a text.
func inIndex(t *testing.T, data, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, indexName, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the index has no file: %v", err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// indexed returns a daemon with a text and its index, which is complete but for the text's end. The
// index is kept until stop is called.
func indexed(t *testing.T, lines string) (d *daemon, c *config.Config, stop func()) {
	t.Helper()
	c = config.Default()
	c.Data = t.TempDir()
	if err := os.WriteFile(filepath.Join(c.Data, "log"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := log.OpenText(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	d = &daemon{logger: slog.New(slog.DiscardHandler), text: text}
	d.settings.Store(c)
	if err := d.openIndex(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.index.Run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(func() {
		stop()
		text.Close()
	})
	for lacks := uint64(1 << 20); lacks >= 1<<16; _, _, lacks = d.index.Usage() {
		time.Sleep(time.Millisecond)
	}
	return d, c, stop
}

// filling makes a message so long that some thousands are more than one file of the index.
var filling = strings.Repeat(" filling", 40)

// TestRemovedRoomLeavesTheIndex: words that were only said in a room are not in the index any more
// when the room's text is removed, and those of another room are. Without the setting there is no
// index.
func TestRemovedRoomLeavesTheIndex(t *testing.T) {
	var lines strings.Builder
	for n := range 4000 {
		fmt.Fprintf(&lines, "2026-11-22T07:20:11.123Z :ann!ann@host PRIVMSG %s :%s %d\n",
			[]string{"#tea", "#cup"}[n%2], []string{"kettle", "saucer"}[n%2]+filling, n)
	}
	d, c, stop := indexed(t, lines.String())
	if !inIndex(t, c.Data, "\nkettle\n") || !inIndex(t, c.Data, "\nsaucer\n") {
		t.Error("the index lacks what was said")
	}
	if n, err := d.erase(t.Context(), "#tea"); n != 2000 || err != nil {
		t.Errorf("%d lines are removed, %v", n, err)
	}
	if inIndex(t, c.Data, "\nkettle\n") || !inIndex(t, c.Data, "\nsaucer\n") {
		t.Error("the index has what was said in the removed room, or not the rest")
	}
	stop()
	c.Index, d.index = false, nil
	if err := d.openIndex(c); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.Data, indexName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an index its folder is there: %v", err)
	}
	if n, err := d.erase(t.Context(), "#cup"); n != 2000 || err != nil {
		t.Errorf("without an index %d lines are removed, %v", n, err)
	}
}

// TestOldWordsLeaveTheIndex: what history.keep removes is soon in no file of the index, also if
// nobody says anything more.
func TestOldWordsLeaveTheIndex(t *testing.T) {
	var lines strings.Builder
	for n := range 4000 {
		fmt.Fprintf(&lines, "2026-11-2%dT07:20:11.123Z :ann!ann@host PRIVMSG #tea :%s %d\n",
			1+n/2000, []string{"kettle", "saucer"}[n/2000]+filling, n)
	}
	d, c, _ := indexed(t, lines.String())
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	if n, err := d.retainText(t.Context(), 12*time.Hour, now); n == 0 || err != nil {
		t.Fatalf("%d bytes are removed, %v", n, err)
	}
	for inIndex(t, c.Data, "\nkettle\n") {
		time.Sleep(time.Millisecond)
	}
	if !inIndex(t, c.Data, "\nsaucer\n") {
		t.Error("the index lacks what was said later")
	}
}
