package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/freeport"
)

// TestStaysSignedInInATerminal: --stay makes a token, by which the client signs in from then on,
// also after kill -9 of the server, until --sign-out. The password is in no file.
func TestStaysSignedInInATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and terminals")
	}
	dir := t.TempDir()
	n := &notified{t: t, dir: dir, program: link(t, dir), port: freeport.For(t)}
	for name, text := range map[string]string{
		"papaya.toml": fmt.Sprintf("[listen]\nplain = []\ntls = [\"127.0.0.1:%d\"]\n[tls]\n"+
			"domains = [\"127.0.0.1\"]\n", n.port) + patient,
		"password": "the kettle is on\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.run("admin", "account", "add", "ann", "--password-file", "password")
	kill := startServer(t, n.program, dir)
	chat := fmt.Sprintf("./papaya chat 127.0.0.1:%d --certificates known --tokens kept/tokens ",
		n.port)
	listed := func() string {
		t.Helper()
		return n.run("admin", "account", "tokens", "ann")
	}
	tokens := func() string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "kept", "tokens"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	first := newScreen(t, dir, chat+"tea --account ann --stay")
	first.shows("Password of ann:")
	first.types("the kettle is on", "Enter")
	first.shows("[yes/no]")
	first.types("yes", "Enter")
	first.shows("This device stays signed")
	first.types("C-c")
	first.shows("ended 0")
	info, err := os.Stat(filepath.Join(dir, "kept", "tokens"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	kept := tokens()
	if !strings.HasPrefix(kept, fmt.Sprintf("127.0.0.1:%d ann papaya-", n.port)) ||
		strings.Contains(kept, "kettle") {
		t.Errorf("on record is %q", kept)
	}
	if list := listed(); strings.Count(list, "papaya chat on ") != 1 {
		t.Errorf("the server has %q", list)
	}

	second := newScreen(t, dir, chat+"tea")
	second.shows("│ @ann")
	kill()
	second.shows("connection lost")
	startServer(t, n.program, dir)
	second.shows("│ @ann")
	// With --stay again, the former token ends with its sessions.
	third := newScreen(t, dir, chat+"tea --account ann --stay")
	third.shows("Password of ann:")
	third.types("the kettle is on", "Enter")
	third.shows("1 tokens ended.")
	second.shows("ended 1")
	if list := listed(); strings.Count(list, "papaya chat on ") != 1 {
		t.Errorf("the server has %q", list)
	}
	if again := tokens(); again == kept || strings.Count(again, "\n") != 1 {
		t.Errorf("on record is %q", again)
	}

	out := newScreen(t, dir, chat+"--sign-out")
	out.shows(fmt.Sprintf("signed out of ann at 127.0.0.1:%d", n.port))
	out.shows("ended 0")
	third.shows("ended 1") // its token is over
	if list := listed(); list != "" || tokens() != "" {
		t.Errorf("the server has %q, and on record is %q", list, tokens())
	}
	again := newScreen(t, dir, chat+"--sign-out")
	again.shows("no token is on record")
	again.shows("ended 2")
}
