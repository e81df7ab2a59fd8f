package gonet

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
)

// rekeyAfter is the number of bytes after which the keys are exchanged again: many times in a large
// copy.
const rekeyAfter = 128 << 10

// sshClient logs in at the server, and counts key exchanges.
func sshClient(t *testing.T, c net.Conn, key ssh.Signer, host ssh.PublicKey,
	exchanges *atomic.Int32) *ssh.Client {
	t.Helper()
	conn, channels, requests, err := ssh.NewClientConn(c, c.RemoteAddr().String(),
		&ssh.ClientConfig{
			Config: ssh.Config{RekeyThreshold: rekeyAfter}, User: "root",
			Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
			HostKeyCallback: func(name string, remote net.Addr, offered ssh.PublicKey) error {
				exchanges.Add(1)
				return ssh.FixedHostKey(host)(name, remote, offered)
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, channels, requests)
	t.Cleanup(func() { _ = client.Close() }) // a test may have closed it
	return client
}

func TestAppSSH(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, p *hostPair) {
		key := newKey(t)
		d := newSSHD(t, p.server, rekeyAfter, key.PublicKey())
		go d.serve(p.listen(t, 22))
		c, err := p.dial(t.Context(), "tcp", p.at(22))
		if err != nil {
			t.Fatal(err)
		}
		var exchanges atomic.Int32
		client := sshClient(t, c, key, d.host, &exchanges)
		commands(t, client)
		shell(t, client)

		// Many copies at once, during which the keys are exchanged again and again.
		body := pattern(fewer(512<<10, 2))
		want := fmt.Sprintf("%x", sha256.Sum256(body))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if got, err := runOver(client, "sum", body); err != nil || string(got) != want {
					t.Errorf("copied %s, %v", got, err)
				}
			})
		}
		all.Wait()
		if got, err := runOver(client, "cat", body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes back of %d, %v", len(got), len(body), err)
		}
		if n := exchanges.Load(); n < 3 {
			t.Errorf("keys were exchanged %d times", n)
		}
		forwards(t, p, client)
	})
}

// runOver runs a command with an input.
func runOver(client *ssh.Client, name string, in []byte) ([]byte, error) {
	s, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it has ended with its command
	s.Stdin = bytes.NewReader(in)
	return s.Output(name)
}

func commands(t *testing.T, client *ssh.Client) {
	if got, err := runOver(client, "cat", []byte("said")); err != nil || string(got) != "said" {
		t.Errorf("cat: %q, %v", got, err)
	}
	var status *ssh.ExitError
	if _, err := runOver(client, "nothing", nil); !errors.As(err, &status) ||
		status.ExitStatus() != 127 {
		t.Errorf("a command that is not there: %v", err)
	}
}

// shell sends lines to a shell, and checks its answers.
func shell(t *testing.T, client *ssh.Client) {
	s, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it has ended
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.RequestPty("xterm", 25, 80, nil), s.Shell()); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		line := strings.Repeat("x", i)
		fmt.Fprintln(in, line)
		want := "you said " + line + "\n"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(out, got); err != nil || string(got) != want {
			t.Fatalf("%q for %q, %v", got, want, err)
		}
	}
	fmt.Fprintln(in, "exit")
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

// forwards has connections forwarded in both directions, and closes the directions of each one by
// one.
func forwards(t *testing.T, p *hostPair, client *ssh.Client) {
	echo := p.listen(t, 7)
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	remote, err := client.Listen("tcp", p.at(2222))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := remote.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	for name, dial := range map[string]func() (net.Conn, error){
		"through the server": func() (net.Conn, error) { return client.Dial("tcp", p.at(7)) },
		"back to the client": func() (net.Conn, error) {
			return p.server.Dial("tcp", p.at(2222))
		},
		"from the client back": func() (net.Conn, error) {
			return p.client.Dial("tcp", p.at(2222))
		},
	} {
		c, err := dial()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := pattern(100_000)
		go func() {
			_, _ = c.Write(want) // the reader checks
			_ = c.(interface{ CloseWrite() error }).CloseWrite()
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
		_ = c.Close() // both directions have ended
	}
	if c, err := client.Dial("tcp", p.at(9)); err == nil {
		_ = c.Close()
		t.Error("a port that nobody takes was forwarded to")
	}
}
