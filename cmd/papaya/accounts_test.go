package main

import (
	"errors"
	"strings"
	"testing"

	"interleave/papaya/account"
	"interleave/papaya/server"
)

// TestCertificateOfAnother logs in by a certificate: as its owner, as nobody in particular, and as
// another account, which is refused.
func TestCertificateOfAnother(t *testing.T) {
	d := &daemon{book: account.Open(&account.Memory{})}
	d.logins = d.metrics.Counters("logins", "Logins.", "result", "ok", "wrong")
	print := strings.Repeat("0a", 32)
	for _, name := range []string{"ann", "bob"} {
		if err := d.book.Add(t.Context(), name, account.Member, account.Secret{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.book.AddCertificate(t.Context(), "ann", print); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"": nil, "ann": nil, "ANN": nil,
		"bob": server.ErrNotYours, "eve": server.ErrNotYours} {
		p, err := authenticator{d}.Certificate(t.Context(), print, name)
		if !errors.Is(err, want) || err == nil && p.Account != "ann" {
			t.Errorf("ann's certificate as %q: got %+v, %v; want %v", name, p, err, want)
		}
	}
}
