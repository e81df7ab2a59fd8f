package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"interleave/papaya/hall"
)

// An Owner is the owner of an account, who asks for something of it.
type Owner struct {
	Account string // that the client is logged in to
	Token   string // the hash of the token by which it is; empty: by other means
	From    net.Addr
}

// ID is the ID of the owner's token; empty if there is none.
func (o Owner) ID() string { return hall.TokenID(o.Token) }

// Own does what the owner of an account asks for itself. With a token, adding a certificate and
// another name need the password, which is empty if the client has named none. Tokens need it
// always. A call may take long, and many goroutines call it. The client is told an error that is
// ErrNotYours, and any other as a failure of the server.
type Own interface {
	SetPassword(ctx context.Context, who Owner, old, new string) error
	Certificates(ctx context.Context, account string) ([]string, error)
	AddCertificate(ctx context.Context, who Owner, fingerprint, password string) error
	RemoveCertificate(ctx context.Context, account, fingerprint string) error
	// Rename returns when all know the new name.
	Rename(ctx context.Context, who Owner, name, password string) error
	// Files returns the lines of a list of the files that the account has sent.
	Files(ctx context.Context, account string) ([]string, error)
	RemoveFile(ctx context.Context, account, id string) error
	// Tokens returns the lines of a list of the account's tokens.
	Tokens(ctx context.Context, who Owner) ([]string, error)
	// AddToken makes a token, and returns its secret and its hash.
	AddToken(ctx context.Context, who Owner, device, password string) (secret, hash string,
		err error)
	// EndTokens ends the token of an ID, HERE, OTHERS or ALL, and returns how many it has ended.
	EndTokens(ctx context.Context, who Owner, which string) (int, error)
}

// owner does such requests beside the goroutine that owns the hall, and returns the answer to it.
type owner server

// Password changes the password, which ends all tokens. The client's own session goes on, since its
// user knows the password: from now on it is not one of a token, so that the order that ends the
// sessions of tokens does not end it.
func (g *owner) Password(c *hall.Client, old, new string) {
	token := c.Token
	g.askThen(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{"The password is changed."}, g.config.Own.SetPassword(ctx, who, old, new)
	}, func(err error) {
		if err != nil {
			c.Token = token
		}
	})
	c.Token = ""
}

func (g *owner) Certificates(c *hall.Client) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		list, err := g.config.Own.Certificates(ctx, who.Account)
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

func (g *owner) AddCertificate(c *hall.Client, print, password string) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{"The certificate is added."},
			g.config.Own.AddCertificate(ctx, who, print, password)
	})
}

func (g *owner) RemoveCertificate(c *hall.Client, print string) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{"The certificate is removed."},
			g.config.Own.RemoveCertificate(ctx, who.Account, print)
	})
}

func (g *owner) Rename(c *hall.Client, name, password string) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{"The account is renamed."}, g.config.Own.Rename(ctx, who, name, password)
	})
}

func (g *owner) Files(c *hall.Client) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return g.config.Own.Files(ctx, who.Account)
	})
}

func (g *owner) RemoveFile(c *hall.Client, id string) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{deleted(id)}, g.config.Own.RemoveFile(ctx, who.Account, id)
	})
}

func (g *owner) Tokens(c *hall.Client) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return g.config.Own.Tokens(ctx, who)
	})
}

func (g *owner) AddToken(c *hall.Client, device, password string, stays bool) {
	hash := ""
	g.askThen(c, func(ctx context.Context, who Owner) ([]string, error) {
		secret, made, err := g.config.Own.AddToken(ctx, who, device, password)
		hash = made
		return []string{"new token " + secret,
			"It logs in in the place of the password, and is not shown again."}, err
	}, func(err error) {
		if err == nil && stays {
			c.Token = hash
		}
	})
}

func (g *owner) EndTokens(c *hall.Client, which string) {
	g.ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		n, err := g.config.Own.EndTokens(ctx, who, which)
		return []string{fmt.Sprintf("%d tokens ended.", n)}, err
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
func (g *owner) ask(c *hall.Client, question func(ctx context.Context, who Owner) ([]string,
	error)) {
	g.askThen(c, question, func(error) {})
}

// askThen is ask, and then is called before the answer on the goroutine that owns the hall.
func (g *owner) askThen(c *hall.Client, question func(ctx context.Context, who Owner) ([]string,
	error), then func(error)) {
	o, who := g.conns[c.ID], Owner{Account: c.Account(), Token: c.Token}
	(*server)(g).beside(o, func(ctx context.Context) func() (hall.Entry, bool) {
		who.From = o.net.RemoteAddr()
		lines, err := question(ctx, who)
		switch {
		case err == nil:
		case errors.Is(err, ErrNotYours):
			lines = []string{"Not done: " + oneLine.Replace(err.Error())}
		default:
			g.config.Logger.Error("an account could not look after itself", "account", who.Account,
				"reason", err)
			lines = []string{"That cannot be done at the moment."}
		}
		return func() (hall.Entry, bool) {
			then(err)
			g.hall.Served(c, lines)
			return hall.Entry{}, false
		}
	})
}
