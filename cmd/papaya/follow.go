package main

import (
	"context"
	"time"

	"interleave/papaya/config"
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

// fileAge returns the age at which files are removed; 0 is never. A file that is older than all
// messages is in none.
func fileAge(c *config.Config) time.Duration {
	if c.FilesKeep == 0 || c.Keep == 0 {
		return max(c.FilesKeep, c.Keep)
	}
	return min(c.FilesKeep, c.Keep)
}

// expireFiles removes old files.
func (d *daemon) expireFiles(now time.Time) {
	age := fileAge(d.settings.Load())
	if age == 0 {
		return
	}
	if n, err := d.files.Expire(now.Add(-age)); n > 0 || err != nil {
		d.logger.Info("old files were removed", "files", n, "error", err)
	}
}
