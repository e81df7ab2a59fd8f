package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/certificate"
)

// at is an address of a client.
func at(host string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, "7"))
	if err != nil {
		panic(err)
	}
	return a
}

// take takes a turn, which is free.
func take(t *testing.T, turns *Turns) {
	t.Helper()
	if err := turns.take(t.Context(), at("192.0.2.9")); err != nil {
		t.Fatal(err)
	}
}

// left fails the test unless so many turns are free, and nobody waits.
func left(t *testing.T, turns *Turns, free int) {
	t.Helper()
	turns.mu.Lock()
	defer turns.mu.Unlock()
	if turns.free != free || len(turns.waiting)+len(turns.order) > 0 {
		t.Errorf("%d turns are free, want %d; %v and %v wait", turns.free, free, turns.order,
			turns.waiting)
	}
}

// TestAddressesTakeTurns: an address, or a network of IPv6, that begins many handshakes makes each
// other one wait for one of them. Those that are given up are left out.
func TestAddressesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 0, nil)
		take(t, turns)
		came := make(chan string, 16)
		begin := func(ctx context.Context, name, host string) {
			go func() {
				if err := turns.take(ctx, at(host)); err != nil {
					name += " is late"
				}
				came <- name
			}()
			synctest.Wait()
		}
		short, cancel := context.WithCancel(t.Context())
		for n := range 3 {
			begin(t.Context(), fmt.Sprint("many", n), "192.0.2.1")
		}
		begin(short, "gone", "192.0.2.2")
		begin(t.Context(), "one", "192.0.2.3")
		begin(t.Context(), "net0", "2001:db8::1")
		begin(t.Context(), "net1", "2001:db8::2")
		begin(t.Context(), "many3", "192.0.2.1")
		cancel()
		synctest.Wait()
		got := []string{<-came}
		for range 7 {
			turns.give()
			synctest.Wait()
			got = append(got, <-came)
		}
		const want = "gone is late, many0, one, net0, many1, net1, many2, many3"
		if strings.Join(got, ", ") != want {
			t.Errorf("the order is %q, want %q", got, want)
		}
		turns.give()
		left(t, turns, 1)
	})
}

// TestTurnThatDoesNotCome: a handshake waits for its time and no longer, and takes nobody's turn.
func TestTurnThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 10*time.Second, nil)
		take(t, turns)
		start := time.Now()
		err := turns.take(t.Context(), at("192.0.2.1"))
		if waited := time.Since(start); !errors.Is(err, ErrBusy) || waited != 10*time.Second {
			t.Errorf("after %v: %v", waited, err)
		}
		turns.give()
		left(t, turns, 1)
	})
}

// TestCrowd: while it is crowded a turn lasts a little longer, and no longer than that.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, until := time.Now(), time.Duration(0)
		turns := NewTurns(1, 0, func() bool { return time.Since(start) < until })
		for _, test := range []struct{ until, want time.Duration }{
			{0, 0}, {crowdStep, crowdStep}, {time.Hour, crowdSteps * crowdStep},
		} {
			start, until = time.Now(), test.until
			turns.slow(t.Context())
			if took := time.Since(start); took != test.want {
				t.Errorf("crowded for %v: it takes %v, want %v", test.until, took, test.want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		start = time.Now()
		turns.slow(ended)
		if took := time.Since(start); took != 0 {
			t.Errorf("the handshake has ended, and takes %v", took)
		}
	})
}

// clientConfig takes any certificate.
var clientConfig = &tls.Config{InsecureSkipVerify: true}

// serverConfig is that of a server.
func serverConfig(t *testing.T) *tls.Config {
	t.Helper()
	source, err := certificate.Open(certificate.Options{Folder: t.TempDir(),
		Domains: []string{"tea.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return source.Config()
}

// TestHandshakesTakeTurns: handshakes wait for a turn when their hello has come, and end it when
// they answer. Clients that say nothing, or nothing more, or what is no handshake, have none.
func TestHandshakesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 0, nil)
		config := turns.Config(serverConfig(t))
		ended := make(chan error, 16)
		serve := func() (client net.Conn) {
			client, server := net.Pipe()
			go func() {
				c := tls.Server(turns.Wrap(server), config)
				err := c.HandshakeContext(t.Context())
				_ = c.Close()
				ended <- err
			}()
			return client
		}
		silent := serve()
		halfway := serve()
		stop := make(chan struct{})
		go func() { // its hello is read, and the answer to it is not
			_ = tls.Client(onlyWrites{halfway, stop}, clientConfig).Handshake()
		}()
		wrong := serve()
		go func() { _, _ = io.WriteString(wrong, "GET / HTTP/1.1\r\n\r\n") }()
		synctest.Wait()
		take(t, turns) // the only one: none of those has it
		const clients = 5
		in := make(chan error, clients)
		for range clients {
			client := serve()
			go func() {
				c := tls.Client(client, clientConfig)
				_, err := io.Copy(io.Discard, c) // after the handshake
				_ = c.Close()
				in <- err
			}()
		}
		synctest.Wait()
		if len(in) > 0 {
			t.Errorf("%d handshakes are done without a turn", len(in))
		}
		turns.give()
		for range clients {
			if err := <-in; err != nil {
				t.Error(err)
			}
		}
		close(stop)
		for _, c := range []net.Conn{silent, halfway, wrong} {
			_ = c.Close()
		}
		failed := 0
		for range clients + 3 {
			if err := <-ended; err != nil {
				failed++
			}
		}
		if failed != 3 {
			t.Errorf("%d handshakes have failed, want 3", failed)
		}
		left(t, turns, 1)
	})
}

// TestCertificateThatIsNotReady: a handshake that waits for its certificate has no turn.
func TestCertificateThatIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 0, nil)
		config := serverConfig(t)
		inner, ready := config.GetCertificate, make(chan struct{})
		config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "late.example" {
				<-ready
			}
			return inner(hello)
		}
		config = turns.Config(config)
		shake := func(name string) error {
			client, server := net.Pipe()
			go func() {
				c := tls.Server(turns.Wrap(server), config)
				_ = c.HandshakeContext(t.Context())
				_ = c.Close()
			}()
			c := tls.Client(client, &tls.Config{InsecureSkipVerify: true, ServerName: name})
			_, err := io.Copy(io.Discard, c) // after the handshake
			_ = c.Close()
			return err
		}
		ended := make(chan error)
		go func() { ended <- shake("late.example") }()
		synctest.Wait()
		if err := shake("tea.example"); err != nil {
			t.Errorf("beside it: %v", err)
		}
		left(t, turns, 1)
		close(ready)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		left(t, turns, 1)
	})
}

// TestLongestTurn: whatever a handshake waits for, its turn ends.
func TestLongestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 0, nil)
		client, server := net.Pipe()
		c := turns.Wrap(server).(*conn)
		if err := c.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		left(t, turns, 0)
		time.Sleep(longest + time.Second)
		left(t, turns, 1)
		_, _ = c.Close(), client.Close() // they end no turn of another
		left(t, turns, 1)
	})
}

// onlyWrites is a connection of a client that reads nothing until stop is closed.
type onlyWrites struct {
	net.Conn
	stop chan struct{}
}

func (c onlyWrites) Read([]byte) (int, error) {
	<-c.stop
	return 0, io.EOF
}

// TestClientsTakeTurns: those of one program, too, and only until they have sent their hello.
func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 0, nil)
		config := serverConfig(t)
		take(t, turns)
		const clients = 3
		in, came := make(chan error, clients), make(chan net.Conn, clients)
		for range clients {
			go func() {
				client, server := net.Pipe()
				came <- server
				c, err := turns.Client(t.Context(), client, clientConfig)
				if err == nil {
					_, err = io.Copy(io.Discard, c)
					_ = c.Close()
				}
				in <- err
			}()
		}
		synctest.Wait()
		turns.give()
		synctest.Wait()
		left(t, turns, 1) // each has sent its hello, and waits for the server
		for range clients {
			server := <-came
			go func() {
				c := tls.Server(server, config)
				_ = c.HandshakeContext(t.Context())
				_ = c.Close()
			}()
			if err := <-in; err != nil {
				t.Error(err)
			}
		}
		left(t, turns, 1)
	})
}
