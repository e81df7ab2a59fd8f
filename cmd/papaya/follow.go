package main

import (
	"context"
	"time"

	"interleave/papaya/file"
	"interleave/papaya/keep"
)

// erased removes the files that a removed message has brought.
func (d *daemon) erased(who, text string) {
	if n, err := d.files.RemoveLinked(text, who); n > 0 || err != nil {
		d.logger.Info("files were removed with their message", "files", n, "error", err)
	}
}

// eraseFilesOf returns what removes the files of messages that are about to be removed from rooms.
func (d *daemon) eraseFilesOf(ctx context.Context) func(keep.Line) error {
	return func(l keep.Line) error {
		if !file.HasLink(l.Body) {
			return nil
		}
		who, err := d.admin.Author(ctx, l.From(), l.At)
		if err == nil {
			d.erased(who, l.Body)
		}
		return err
	}
}

// expireFiles removes files that are old, or older than all messages.
func (d *daemon) expireFiles(now time.Time) {
	c := d.settings.Load()
	age := c.FilesKeep
	if c.Keep > 0 && (age == 0 || c.Keep < age) {
		age = c.Keep
	}
	if age == 0 {
		return
	}
	if n, err := d.files.Expire(now.Add(-age)); n > 0 || err != nil {
		d.logger.Info("old files were removed", "files", n, "error", err)
	}
}
