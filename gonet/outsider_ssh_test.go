//go:build linux

package gonet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// keyFile makes a key, and a file of it for OpenSSH.
func keyFile(t *testing.T, name string) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err := errors.Join(err, os.WriteFile(name, pem.EncodeToMemory(block), 0o600)); err != nil {
		t.Fatal(err)
	}
	return key
}

// TestOutsiderSSHClient has OpenSSH's client run commands on the stack, copy with a key exchange in
// between, and forward connections in both directions.
func TestOutsiderSSHClient(t *testing.T) {
	requireTools(t, "ssh of openssh-client", "ip of iproute2")
	s := capturedKernel(t)
	dir := t.TempDir()
	key := keyFile(t, dir+"/key")
	d := newSSHD(t, s, rekeyAfter, key.PublicKey())
	l, err := s.Listen("tcp", ":22")
	if err != nil {
		t.Fatal(err)
	}
	go d.serve(l)
	echo, err := s.Listen("tcp", ":7")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	body := pattern(fewer(5_000_000, 2)) // keys are exchanged after each MiB at the latest
	for _, at := range []string{"10.9.0.2", "2001:db8::2"} {
		if err := os.WriteFile(dir+"/known", fmt.Appendf(nil, "%s %s", at,
			ssh.MarshalAuthorizedKey(d.host)), 0o600); err != nil {
			t.Fatal(err)
		}
		client := func(in []byte, args ...string) *program {
			t.Helper()
			args = append([]string{"-F", "none", "-i", dir + "/key", "-o", "IdentitiesOnly=yes",
				"-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes",
				"-o", "UserKnownHostsFile=" + dir + "/known", "-o", "ExitOnForwardFailure=yes",
				"-o", "RekeyLimit=1M"}, args...)
			return begin(t, bytes.NewReader(in), "ssh", args...)
		}
		if got, want := client(body, at, "sum").end(t), fmt.Sprintf("%x",
			sha256.Sum256(body)); got != want {
			t.Errorf("what was copied has the sum %s", got)
		}
		if got := client(body, at, "cat").end(t); got != string(body) {
			t.Errorf("%d bytes back of %d", len(got), len(body))
		}
		if got := client([]byte("hello\nexit\n"), "-tt", at).end(t); got != "you said hello\n" {
			t.Errorf("the shell has said %q", got)
		}
		var status *exec.ExitError
		p := client(nil, at, "nothing")
		if err := <-p.ended; !errors.As(err, &status) || status.ExitCode() != 127 ||
			p.problem.String() != `no command "nothing"` {
			t.Errorf("a command that is not there: %v, %q", err, p.problem.String())
		}
		if got := client(body, "-W", "10.9.0.2:7", at).end(t); got != string(body) {
			t.Errorf("through the stack %d bytes of %d", len(got), len(body))
		}
		// the kernel's side connects to the stack for us
		back := client(nil, "-N", "-R", "2222:10.9.0.2:7", at)
		eventually(t, func() error {
			c, err := s.Dial("tcp", "127.0.0.1:2222")
			if err != nil {
				return err
			}
			go func() {
				_, _ = c.Write(body) // the reader checks
				_ = c.(*Conn).CloseWrite()
			}()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, body) {
				t.Errorf("forwarded to the client %d bytes of %d, %v", len(got), len(body), err)
			}
			return c.Close()
		})
		// End it to free its port. Signal its process group: timeout forwards SIGTERM only once,
		// and ssh may miss it while it goes to sleep.
		if err := unix.Kill(-back.Process.Pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		eventually(t, func() error {
			l, err := s.Listen("tcp", ":2222")
			if err == nil {
				err = l.Close()
			}
			return err
		})
	}
}

// TestOutsiderSSHServer has a client on the stack log in at OpenSSH's server.
func TestOutsiderSSHServer(t *testing.T) {
	requireTools(t, "sshd of openssh-server", "unshare of util-linux", "ip of iproute2")
	s := capturedKernel(t)
	dir := t.TempDir()
	host := keyFile(t, dir+"/host")
	key := keyFile(t, dir+"/key")
	config := `ListenAddress 10.9.0.1:2200
ListenAddress [2001:db8::1]:2200
HostKey ` + dir + `/host
AuthorizedKeysFile ` + dir + `/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
RekeyLimit 1M
`
	if err := errors.Join(os.WriteFile(dir+"/config", []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "authorized"), ssh.MarshalAuthorizedKey(key.PublicKey()),
			0o600)); err != nil {
		t.Fatal(err)
	}
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		t.Fatal(err)
	}
	// sshd's privilege separation folder is in a /run of its own, which ends with it. It listens at
	// the last of its addresses first, and says so for each.
	server(t, "Server listening on 10.9.0.1", "unshare", "-m", "sh", "-ec",
		`mount -t tmpfs none /run; mkdir -m 755 /run/sshd; exec "$0" -D -e -f "$1"`, sshd, dir+
			"/config")
	body := pattern(5_000_000)
	for _, at := range []string{"10.9.0.1:2200", "[2001:db8::1]:2200"} {
		c, err := s.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		var exchanges atomic.Int32
		client := sshClient(t, c, key, host.PublicKey(), &exchanges)
		if got, err := runOver(client, "cat", body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes of %d, %v", len(got), len(body), err)
		}
		if n := exchanges.Load(); n < 3 {
			t.Errorf("keys were exchanged %d times", n)
		}
		far, err := client.Dial("tcp", "10.9.0.1:2200") // the server itself
		if err != nil {
			t.Fatal(err)
		}
		banner := make([]byte, 8)
		if _, err := io.ReadFull(far, banner); err != nil || string(banner) != "SSH-2.0-" {
			t.Errorf("%q, %v", banner, err)
		}
		_ = far.Close() // the server has sent everything
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}
