package web

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"interleave/internal/freeport"
)

// nobody is the number of the user without rights, in Debian and elsewhere.
const nobody = 65534

// ngircd starts a server without history, echo and times, and returns its address.
func ngircd(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("ngircd")
	if err != nil {
		path = "/usr/sbin/ngircd"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("SKIP: install ngircd for the test of Papaya's page against a server without " +
			"IRCv3's extras")
	}
	port := freeport.For(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	dir := t.TempDir()
	// user nobody must be able to read it
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "ngircd.conf")
	text := fmt.Sprintf("[Global]\nName = plain.test\nInfo = plain\nListen = 127.0.0.1\nPorts = "+
		"%d\n[Limits]\nMaxConnectionsIP = 0\nPongTimeout = 300\n[Options]\nDNS = no\nIdent = no\n"+
		"PAM = no\n", port)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-n", "-f", conf)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// Otherwise ngircd would change its user itself, and would lose the signal that ends it with
	// the test.
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(patience)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("ngircd does not listen: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestTwoPeopleOnAPlainServer(t *testing.T) {
	url := site(t, ngircd(t))
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 360, 740)
	ann.signIn(url, "ann", "#tea")
	bob.signIn(url, "bob", "#tea")
	ann.write("the kettle is on")
	bob.sees("the kettle is on")
	ann.sees("the kettle is on") // exactly once, though the server sends no echo
	bob.write("ann: two cups, please")
	ann.sees("ann: two cups, please")
	bob.write("/me waits")
	ann.sees("bob waits")
	ann.Picture("plain-wide")
	bob.Picture("plain-phone")
}
