package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"interleave/papaya/certificate"
)

// Notices are what an administrator must know of a server's start and end, whatever log.level is.
// They are text, or lines of the log if that is of JSON: then each line is an object.
type notices struct {
	w    io.Writer
	json *slog.Logger // nil: they are text
}

func newNotices(w io.Writer, format string) notices {
	if format != "json" {
		return notices{w: w}
	}
	return notices{json: slog.New(slog.NewJSONHandler(w, nil))}
}

// ready says that clients are accepted.
func (n notices) ready() {
	if n.json != nil {
		n.json.Info("ready")
		return
	}
	fmt.Fprintln(n.w, "ready")
}

// certificate tells what clients pin.
func (n notices) certificate(of *certificate.Source, domains []string) {
	until := of.Ends().Format(time.DateOnly)
	if n.json != nil {
		n.json.Info("certificate of its own; clients pin its SHA-256", "domains", domains,
			"until", until, "fingerprint", of.Fingerprint())
		return
	}
	fmt.Fprintf(n.w, "certificate of its own, for %s, until %s; clients pin its SHA-256:\n%s\n",
		strings.Join(domains, ", "), until, of.Fingerprint())
}

// nobody says that there is no account.
func (n notices) nobody() {
	const what = "nobody has an account yet: papaya admin account add NAME --role admin"
	if n.json != nil {
		n.json.Warn(what)
		return
	}
	fmt.Fprintln(n.w, what)
}

// end tells why the server has ended, unless main does.
func (n notices) end(err error) error {
	if err == nil || n.json == nil {
		return err
	}
	n.json.Error("the server has ended", "reason", err)
	return toldError{err}
}

// A toldError was told already.
type toldError struct{ error }

func (t toldError) Unwrap() error { return t.error }
