package gonet

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"

	"golang.org/x/crypto/ssh"
)

// sshd is an SSH server on a stack, with a few commands and port forwarding in both directions. The
// holder of the key may log in.
type sshd struct {
	stack  *Stack
	config *ssh.ServerConfig
	host   ssh.PublicKey
}

// newSSHD returns a server that exchanges keys again after rekey bytes.
func newSSHD(t *testing.T, s *Stack, rekey uint64, user ssh.PublicKey) *sshd {
	t.Helper()
	key := newKey(t)
	d := &sshd{stack: s, host: key.PublicKey(), config: &ssh.ServerConfig{
		Config: ssh.Config{RekeyThreshold: rekey},
		PublicKeyCallback: func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions,
			error) {
			if string(offered.Marshal()) != string(user.Marshal()) {
				return nil, errors.New("another's key")
			}
			return &ssh.Permissions{}, nil
		},
	}}
	d.config.AddHostKey(key)
	return d
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// serve accepts clients until the listener is closed.
func (d *sshd) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go d.client(c)
	}
}

// client serves one connection to its end. The client reports errors.
func (d *sshd) client(c net.Conn) {
	conn, channels, requests, err := ssh.NewServerConn(c, d.config)
	if err != nil {
		_ = c.Close()
		return
	}
	go d.listen(conn, requests)
	for n := range channels {
		switch n.ChannelType() {
		case "session":
			go d.session(n)
		case "direct-tcpip":
			go d.connect(n)
		default:
			_ = n.Reject(ssh.UnknownChannelType, n.ChannelType())
		}
	}
}

// session runs one command, or a shell (RFC 4254 section 6).
func (d *sshd) session(n ssh.NewChannel) {
	c, requests, err := n.Accept()
	if err != nil {
		return
	}
	for r := range requests {
		var exec struct{ Command string }
		switch r.Type {
		case "exec":
			_ = ssh.Unmarshal(r.Payload, &exec)
			fallthrough
		case "shell":
			_ = r.Reply(true, nil)
			go func() {
				status := struct{ Status uint32 }{command(exec.Command, c)}
				_, _ = c.SendRequest("exit-status", false, ssh.Marshal(status))
				_ = c.Close()
			}()
		default:
			_ = r.Reply(r.Type == "env" || r.Type == "pty-req", nil)
		}
	}
}

// command runs a command; an empty name is the shell.
func command(name string, c ssh.Channel) uint32 {
	switch name {
	case "cat":
		_, _ = io.Copy(c, c)
	case "sum":
		sum := sha256.New()
		_, _ = io.Copy(sum, c)
		fmt.Fprintf(c, "%x", sum.Sum(nil))
	case "":
		for lines := bufio.NewScanner(c); lines.Scan() && lines.Text() != "exit"; {
			fmt.Fprintf(c, "you said %s\n", lines.Text())
		}
	default:
		fmt.Fprintf(c.Stderr(), "no command %q", name)
		return 127
	}
	return 0
}

// connect forwards a client's connection to an address that the stack reaches (RFC 4254 section
// 7.2).
func (d *sshd) connect(n ssh.NewChannel) {
	var to struct {
		Host   string
		Port   uint32
		From   string
		Source uint32
	}
	if err := ssh.Unmarshal(n.ExtraData(), &to); err != nil {
		_ = n.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	far, err := d.stack.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		_ = n.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	c, requests, err := n.Accept()
	if err != nil {
		_ = far.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	splice(c, far)
}

// listen listens at ports of the stack for the client, until it has gone (RFC 4254 section 7.1).
func (d *sshd) listen(conn *ssh.ServerConn, requests <-chan *ssh.Request) {
	for r := range requests {
		var at struct {
			Host string
			Port uint32
		}
		if r.Type != "tcpip-forward" || ssh.Unmarshal(r.Payload, &at) != nil {
			_ = r.Reply(false, nil)
			continue
		}
		host := at.Host
		if host == "localhost" {
			host = ""
		}
		l, err := d.stack.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(at.Port))))
		if err != nil {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, ssh.Marshal(struct{ Port uint32 }{uint32(l.Addr().(*net.TCPAddr).Port)}))
		go func() { _ = conn.Wait(); _ = l.Close() }()
		go func() {
			for {
				near, err := l.Accept()
				if err != nil {
					return
				}
				from := near.RemoteAddr().(*net.TCPAddr)
				c, requests, err := conn.OpenChannel("forwarded-tcpip", ssh.Marshal(struct {
					Host   string
					Port   uint32
					From   string
					Source uint32
				}{at.Host, uint32(l.Addr().(*net.TCPAddr).Port), from.IP.String(),
					uint32(from.Port)}))
				if err != nil {
					_ = near.Close()
					continue
				}
				go ssh.DiscardRequests(requests)
				go splice(c, near)
			}
		}()
	}
}

// halves is a connection whose directions can be closed separately.
type halves interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// splice copies between a and b until both directions have ended.
func splice(a halves, b net.Conn) {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(a, b)
		_ = a.CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(b, a)
	_ = b.(halves).CloseWrite()
	<-done
	_, _ = a.Close(), b.Close()
}
