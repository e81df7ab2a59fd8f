package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"interleave/papaya/hall"
)

// Own does what the owner of an account asks for itself. The account is the one that the client is
// logged in to. A call may take long, and many goroutines call it. The client is told an error that
// is ErrNotYours, and any other as a failure of the server.
type Own interface {
	SetPassword(ctx context.Context, account, old, new string, from net.Addr) error
	Certificates(ctx context.Context, account string) ([]string, error)
	AddCertificate(ctx context.Context, account, fingerprint string) error
	RemoveCertificate(ctx context.Context, account, fingerprint string) error
	// Rename returns when all know the new name.
	Rename(ctx context.Context, account, name string, from net.Addr) error
	// Files returns the lines of a list of the files that the account has sent.
	Files(ctx context.Context, account string) ([]string, error)
	RemoveFile(ctx context.Context, account, id string) error
}

// owner does such requests beside the goroutine that owns the hall, and returns the answer to it.
type owner server

func (g *owner) Password(c *hall.Client, old, new string) {
	g.ask(c, func(ctx context.Context, account string, from net.Addr) ([]string, error) {
		return []string{"The password is changed."},
			g.config.Own.SetPassword(ctx, account, old, new, from)
	})
}

func (g *owner) Certificates(c *hall.Client) {
	g.ask(c, func(ctx context.Context, account string, _ net.Addr) ([]string, error) {
		list, err := g.config.Own.Certificates(ctx, account)
		lines := []string{fmt.Sprintf("%d certificates.", len(list))}
		for _, print := range list {
			here := ""
			if print == c.Fingerprint {
				here = " here"
			}
			lines = append(lines, "certificate "+print+here)
		}
		return lines, err
	})
}

func (g *owner) AddCertificate(c *hall.Client, print string) {
	g.ask(c, func(ctx context.Context, account string, _ net.Addr) ([]string, error) {
		return []string{"The certificate is added."},
			g.config.Own.AddCertificate(ctx, account, print)
	})
}

func (g *owner) RemoveCertificate(c *hall.Client, print string) {
	g.ask(c, func(ctx context.Context, account string, _ net.Addr) ([]string, error) {
		return []string{"The certificate is removed."},
			g.config.Own.RemoveCertificate(ctx, account, print)
	})
}

func (g *owner) Rename(c *hall.Client, name string) {
	g.ask(c, func(ctx context.Context, account string, from net.Addr) ([]string, error) {
		return []string{"The account is renamed."}, g.config.Own.Rename(ctx, account, name, from)
	})
}

func (g *owner) Files(c *hall.Client) {
	g.ask(c, func(ctx context.Context, account string, _ net.Addr) ([]string, error) {
		return g.config.Own.Files(ctx, account)
	})
}

func (g *owner) RemoveFile(c *hall.Client, id string) {
	g.ask(c, func(ctx context.Context, account string, _ net.Addr) ([]string, error) {
		return []string{deleted(id)}, g.config.Own.RemoveFile(ctx, account, id)
	})
}

// deleted answers that a file is deleted, by its ID: a client may have asked for several. Somebody
// who may read the answer later gets no link by it.
func deleted(id string) string {
	if strings.Contains(id, "/") {
		return "The file is deleted."
	}
	return "The file " + id + " is deleted."
}

// oneLine keeps the text of an error within its line.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

// ask does one request. A client has at most one at a time.
func (g *owner) ask(c *hall.Client, question func(ctx context.Context, account string,
	from net.Addr) ([]string, error)) {
	o, account := g.conns[c.ID], c.Account()
	(*server)(g).beside(o, signTimeout, func(ctx context.Context) func() (hall.Entry, bool) {
		lines, err := question(ctx, account, o.net.RemoteAddr())
		switch {
		case err == nil:
		case errors.Is(err, ErrNotYours):
			lines = []string{"Not done: " + oneLine.Replace(err.Error())}
		default:
			g.config.Logger.Error("an account could not look after itself", "account", account,
				"reason", err)
			lines = []string{"That cannot be done at the moment."}
		}
		return func() (hall.Entry, bool) {
			g.hall.Served(c, lines)
			return hall.Entry{}, false
		}
	})
}
