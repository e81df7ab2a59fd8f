package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
	"interleave/papaya/config"
	"interleave/papaya/log"
)

// TestCloakKey: the key is made once, and a wrong one is told.
func TestCloakKey(t *testing.T) {
	l, err := log.Open(t.Context(), log.Options{Folder: filepath.Join(t.TempDir(), "stream")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	store, err := openKeys(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := openCloak(t.Context(), store, &config.Config{}); f != nil || err != nil {
		t.Errorf("without the setting: %v", err)
	}
	address, hosts := netip.MustParseAddr("192.0.2.7"), map[string]bool{}
	for range 2 {
		f, err := openCloak(t.Context(), store, &config.Config{Cloak: true})
		if err != nil {
			t.Fatal(err)
		}
		hosts[f(address)] = true
	}
	if len(hosts) != 1 {
		t.Errorf("the cloaks are %v", hosts)
	}
	_, revision, err := store.Get(t.Context(), cloakName)
	if err == nil {
		err = store.Put(t.Context(), cloakName, []byte("short"), revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openCloak(t.Context(), store, &config.Config{Cloak: true}); err == nil {
		t.Error("a key of 5 bytes is taken")
	}
}

// TestCloaks: users see a cloak unless the settings say no, and it is the same after kill -9.
func TestCloaks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	dir, port := t.TempDir(), freeport.For(t)
	program := link(t, dir)
	host := func(settings string) string {
		conf := fmt.Sprintf("[server]\n%s[listen]\nplain = []\ntls = []\n"+
			"proxied = [\"127.0.0.1:%d\"]\n[accounts]\nrequired = false\n"+patient, settings, port)
		if err := os.WriteFile(filepath.Join(dir, "papaya.toml"), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		defer startServer(t, program, dir)()
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "PROXY TCP4 192.0.2.7 127.0.0.1 4711 6667\r\n")
		c := irctest.New(t, conn).Register("ann")
		c.Send("USERHOST ann")
		_, host, _ := strings.Cut(c.ExpectLine(" 302 "), "@") // RPL_USERHOST
		return host
	}
	one, again, plain := host(""), host(""), host("cloak = false\n")
	if !strings.HasSuffix(one, ".cloak.invalid") || one != again || plain != "192.0.2.7" {
		t.Errorf("her host is %q, after a restart %q, and without cloaks %q", one, again, plain)
	}
}
