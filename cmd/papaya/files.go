package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/papaya/account"
	"interleave/papaya/bot"
	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/file"
	"interleave/papaya/irc"
	"interleave/papaya/server"
)

// filesName is the name of the folder of files in a data folder.
const filesName = "files"

func fileLimits(c *config.Config) file.Limits {
	return file.Limits{Size: int64(c.FilesSize), Account: int64(c.FilesAccount),
		Total: int64(c.FilesTotal), Pixels: c.FilesPixels}
}

func (d *daemon) openFiles(c *config.Config) (err error) {
	d.files, err = file.Open(filepath.Join(c.Data, filesName),
		func() file.Limits { return fileLimits(d.settings.Load()) }, d.logger)
	return err
}

// fileServer makes the part of the page's server that is about files.
func (d *daemon) fileServer(c *config.Config) *file.Server {
	return file.NewServer(file.Options{Store: d.files, Accounts: uploader{d}, Base: pageURL(c),
		Origins: c.Origins, Encrypted: server.Encrypted, Logger: d.logger, Now: time.Now,
		BrowserToken: func(r *http.Request) string { return server.BrowserToken(r, c.Base) },
		Banned:       d.admin.Banned,
		Count:        func(result string) { d.uploads.Of(result).Add(1) }})
}

// pageURL returns the URL of the page in links to files and in previews: files.url, or else the
// address that the page has by the other settings.
func pageURL(c *config.Config) string {
	if c.FilesURL != "" {
		return c.FilesURL
	}
	base, _ := webAddress(c)
	return base
}

// fileHost is what clients are told of where files are posted to.
func fileHost(c *config.Config, s *file.Server) func() string {
	if len(c.Web)+len(c.ProxiedWeb) == 0 {
		return nil
	}
	return s.UploadURL
}

// An uploader implements file.Accounts.
type uploader struct{ *daemon }

// Password implements file.Accounts. It counts as a login.
func (u uploader) Password(ctx context.Context, name string, password account.Secret,
	from netip.Addr) (string, error) {
	a, _, err := u.book.Enter(ctx, from, name, password)
	_, _ = authenticator(u).answer(a, err) // counts it
	return a.Name, err
}

// Browser implements file.Accounts.
func (u uploader) Browser(ctx context.Context, token account.Secret,
	from netip.Addr) (string, error) {
	a, _, err := u.book.EnterToken(ctx, from, token, "")
	_, _ = authenticator(u).answer(a, err) // counts it
	return a.Name, err
}

// Token implements file.Accounts: a program that may send messages may send files.
func (u uploader) Token(ctx context.Context, token account.Secret) (string, error) {
	t, err := u.tokens.Find(ctx, token)
	switch {
	case err != nil && !errors.Is(err, bot.ErrUnknown):
		return "", err
	case err != nil || t.Kind != bot.Bot || !t.Send:
		return "", account.ErrWrong
	}
	return t.Nick(), nil
}

// measureFiles makes the metrics of files.
func (d *daemon) measureFiles() {
	f := &d.metrics
	f.Gauge("papaya_files", "Files that are stored.", func() float64 {
		n, _ := d.files.Usage()
		return float64(n)
	})
	f.Gauge("papaya_files_bytes", "Size of these files, and of uploads that are under way.",
		func() float64 {
			_, n := d.files.Usage()
			return float64(n)
		})
	d.uploads = f.Counters("papaya_uploads_total", "Files that were sent to the server.", "result",
		"stored", "refused", "failed")
}

func fileCommand(p *target) *cobra.Command {
	c := &cobra.Command{Use: "file", Short: "Files that were sent: list, remove", Args: usageArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var owner string
	list := &cobra.Command{Use: "list", Short: "List them, without their links", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.files(cmd.Context(), func(all control.Files) error {
				return listFiles(cmd, all, owner)
			})
		}}
	list.Flags().StringVar(&owner, "account", "", "only those of the account of this `name`")
	remove := &cobra.Command{Use: "remove ID...", Short: "Remove files; their links lead nowhere",
		Args: least(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.files(cmd.Context(), func(all control.Files) error {
				for _, id := range args {
					if err := all.Remove(cmd.Context(), id); err != nil {
						return fmt.Errorf("%s: %w", id, err)
					}
				}
				return nil
			})
		}}
	c.AddCommand(list, remove)
	return c
}

func listFiles(cmd *cobra.Command, all control.Files, owner string) error {
	list, err := all.List(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, i := range list {
		if owner != "" && irc.Lower(i.Owner) != irc.Lower(owner) {
			continue
		}
		who := i.Owner
		if who == "" {
			who = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", i.ID, who, i.Made.Format(time.RFC3339),
			file.Bytes(i.Size), i.Type, i.Name)
	}
	return w.Flush()
}

// files calls do with the files of the running server, or of the data folder if none is running.
func (p *target) files(ctx context.Context, do func(control.Files) error) error {
	return p.either(ctx, func(c *control.Client) error { return do(c.Files()) },
		func(_ account.Store, c *config.Config) error {
			s, err := file.Open(filepath.Join(c.Data, filesName),
				func() file.Limits { return fileLimits(c) }, slog.Default())
			if err != nil {
				return err
			}
			defer s.Close()
			return do(control.StoredFiles{Store: s})
		})
}
