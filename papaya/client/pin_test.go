package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// selfMade starts a server with a self-signed certificate.
func selfMade(t *testing.T) (addr, fingerprint string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), Fingerprint(s.Certificate())
}

func TestCertificateIsAskedAboutOnce(t *testing.T) {
	addr, fingerprint := selfMade(t)
	file := filepath.Join(t.TempDir(), "new", "certificates")
	dial := func(p *Pins) error {
		c, err := TLS(addr, "127.0.0.2", p)(context.Background())
		if err == nil {
			c.Close()
		}
		return err
	}
	var changed *PinError
	if err := dial(&Pins{File: file}); !errors.As(err, &changed) || changed.Want != "" ||
		changed.Got != fingerprint {
		t.Fatalf("nobody to ask: got %v", err)
	}
	asked := 0
	ask := func(yes bool) func(string, string) bool {
		return func(a, f string) bool {
			asked++
			if a != addr || f != fingerprint {
				t.Errorf("asked about %s %s", a, f)
			}
			return yes
		}
	}
	if err := dial(&Pins{File: file, Ask: ask(false)}); !errors.As(err, &changed) {
		t.Fatalf("answered no: got %v", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("something is on record after a no: %v", err)
	}
	if err := dial(&Pins{File: file, Ask: ask(true)}); err != nil {
		t.Fatalf("answered yes: %v", err)
	}
	if err := dial(&Pins{File: file}); err != nil || asked != 2 {
		t.Errorf("on record: %v, asked %d times, want 2", err, asked)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestChangedCertificateIsAnAlarm(t *testing.T) {
	addr, _ := selfMade(t)
	file := filepath.Join(t.TempDir(), "certificates")
	if err := os.WriteFile(file, []byte("other:1 aa\n"+addr+" 00ff\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := false
	c := &Conn{Dial: TLS(addr, "127.0.0.1", &Pins{File: file, Ask: func(string, string) bool {
		t.Error("asked")
		return true
	}}), Tell: func(any) { told = true }}
	err := c.Run(context.Background())
	var changed *PinError
	if !errors.As(err, &changed) || changed.Want != "00ff" || told {
		t.Fatalf("got %v, told %v", err, told)
	}
	if text := err.Error(); !strings.Contains(text, "not the one on record") ||
		!strings.Contains(text, file) {
		t.Errorf("got %q", text)
	}
}
