package main

import (
	"context"
	"strings"
	"time"

	"interleave/papaya/config"
	"interleave/papaya/file"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/keep"
)

// erased removes the files that a removed message has brought.
func (d *daemon) erased(who, text string) {
	if n, err := d.files.RemoveLinked(text, who); n > 0 || err != nil {
		d.logger.Info("files were removed with their message", "files", n, "error", err)
	}
}

// eraseFilesOf returns what removes the files of messages, and the images of previews, that are
// about to be removed from rooms.
func (d *daemon) eraseFilesOf(ctx context.Context) func(keep.Line) error {
	return func(l keep.Line) error {
		if strings.HasPrefix(l.Tags, hall.PreviewTag) {
			d.previewErased(irc.ParseTags(l.Tags)[hall.PreviewTag])
		}
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

// shorter returns the shorter of two ages; 0 is never.
func shorter(one, other time.Duration) time.Duration {
	if one == 0 || other == 0 {
		return max(one, other)
	}
	return min(one, other)
}

// fileAge returns the age at which files are removed. No message has a file that is older than all
// messages, so the age of messages holds, too.
func fileAge(c *config.Config) time.Duration { return shorter(c.FilesKeep, c.Keep) }

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
