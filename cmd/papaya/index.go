package main

import (
	"context"
	"path/filepath"
	"time"

	"interleave/papaya/config"
	"interleave/papaya/hall"
	"interleave/papaya/keep"
	"interleave/papaya/search"
)

// indexName is the name of the folder of the messages' index in a data folder. It is in no backup.
const indexName = "search"

// openIndex makes the index of the messages, or removes its files if the settings want none.
func (d *daemon) openIndex(c *config.Config) error {
	folder := filepath.Join(c.Data, indexName)
	if !c.Index {
		return search.Remove(folder)
	}
	d.index = search.New(folder, hall.Source(d.text), d.logger)
	return nil
}

// retainText removes messages that are older than a limit, from the index, too; 0 keeps all.
func (d *daemon) retainText(ctx context.Context, age time.Duration,
	now time.Time) (bytes uint64, err error) {
	bytes, err = keep.Retain(ctx, d.text, age, now)
	if bytes > 0 {
		d.index.Cut()
	}
	return bytes, err
}

// retainRooms removes messages of rooms that are older than the room's limit.
func (d *daemon) retainRooms(ctx context.Context, ages map[string]time.Duration,
	now time.Time) (lines int, err error) {
	if len(ages) == 0 {
		return 0, nil
	}
	return d.removeLines(ctx, func(before func(keep.Line) error) (int, error) {
		return keep.RetainRooms(ctx, d.text, ages, now, before)
	})
}

// removeLines has a function remove messages from the middle of the text, with their files and from
// the index.
func (d *daemon) removeLines(ctx context.Context,
	remove func(before func(keep.Line) error) (int, error)) (lines int, err error) {
	d.erasing.Lock()
	defer d.erasing.Unlock()
	change := d.index.Change()
	defer func() { change.Done(err) }()
	erase := d.eraseFilesOf(ctx)
	return remove(func(l keep.Line) error {
		if err := change.Remove(l.At); err != nil {
			return err
		}
		// What this line has removed may still be in the index, which then would not learn of it.
		if at, ok := hall.Redacted(l.Raw[:len(l.Raw)-1]); ok {
			if err := change.Remove(at); err != nil {
				return err
			}
		}
		return erase(l)
	})
}

// measureIndex makes the metrics of the index.
func (d *daemon) measureIndex() {
	f := &d.metrics
	f.Gauge("papaya_index_bytes", "Size of the files of the messages' index.", func() float64 {
		files, _, _ := d.index.Usage()
		return float64(files)
	})
	f.Gauge("papaya_index_memory_bytes", "What the messages' index takes in memory.",
		func() float64 {
			_, memory, _ := d.index.Usage()
			return float64(memory)
		})
	f.Gauge("papaya_index_lacks_bytes", "Bytes of messages that are not in the index yet.",
		func() float64 {
			_, _, lacks := d.index.Usage()
			return float64(lacks)
		})
}
