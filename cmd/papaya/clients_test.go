package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// TestOtherClients runs WeeChat and irssi over TLS with a password. They join, talk, show messages
// that they have missed once and with their times, and reconnect after the server was killed. Their
// account stays in the room meanwhile.
func TestOtherClients(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and clients")
	}
	clients := map[string]func(t *testing.T, dir string, port int, pin string) otherClient{}
	for name, start := range map[string]func(t *testing.T, dir string, port int,
		pin string) otherClient{"weechat-headless": startWeechat, "irssi": startIrssi} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("SKIP: install %s for the test of Papaya with it", name)
			continue
		}
		clients[name] = start
	}
	if len(clients) == 0 {
		t.Skip("SKIP: install weechat-headless or irssi for the test of Papaya with other clients")
	}
	dir := t.TempDir()
	program := link(t, dir)
	port := freeport.For(t)
	conf := fmt.Sprintf("[listen]\nplain = []\ntls = [\"127.0.0.1:%d\"]\n"+patient, port)
	for name, text := range map[string]string{"papaya.toml": conf, "password": "kettle-is-on\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ann", "guest"} {
		cmd := exec.Command(program, "admin", "account", "add", name, "--password-file", "password")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	outer := t // the server runs for all clients
	kill := startServer(outer, program, dir)
	pin := fingerprintAt(t, port)
	for name, start := range clients {
		t.Run(name, func(t *testing.T) {
			ann := newFriend(t, port, "ann")
			guest := start(t, dir, port, pin)
			ann.Expect(":guest!") // it joins, or is no longer away
			ann.Send("PRIVMSG #tea :welcome to %s", name)
			guest.shows("welcome to " + name)
			guest.types("thanks from " + name)
			ann.Expect("PRIVMSG #tea :thanks from " + name)

			guest.types("/disconnect")
			ann.Expect("AWAY :")
			said := "while " + name + " was away"
			ann.Send("PRIVMSG #tea :%s", said)
			at := timeOf(ann.ExpectLine(said)) // the echo has the time
			guest.types(guest.connect())
			ann.Expect(":guest!")
			if got := guest.shows(said); guest.times() && !strings.Contains(got, at) {
				t.Errorf("a message of %s is shown without that time:\n%s", at, got)
			}

			all := guest.shows(said)
			for _, once := range []string{"welcome to " + name, said} {
				if n := strings.Count(all, once); n != 1 {
					t.Errorf("%q is there %d times:\n%s", once, n, all)
				}
			}
			kill()
			kill = startServer(outer, program, dir)
			if command := guest.again(); command != "" {
				guest.types(command)
			}
			ann = newFriend(t, port, "ann")
			ann.ExpectFunc("guest, who comes back before ann or after her", func(line string) bool {
				return strings.Contains(line, "JOIN #tea") ||
					strings.Contains(line, "353 ann = #tea") && strings.Contains(line, "guest")
			})
			ann.Send("PRIVMSG #tea :and again")
			guest.shows("and again")
			guest.types("/quit")
			ann.Expect("AWAY :")
		})
	}
}

// An otherClient is another program's client, in the room #tea as guest.
type otherClient interface {
	types(line string)
	shows(text string) string
	connect() string // the command that connects
	// again is the command that connects again after a loss. It is empty if the client soon does so
	// by itself.
	again() string
	times() bool // the client shows the time of a message if the server sends it
}

// fingerprintAt returns the fingerprint of the server's certificate.
func fingerprintAt(t *testing.T, port int) string {
	t.Helper()
	c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port),
		&tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sum := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:])
}

// weechat writes its messages into files, and reads commands from a pipe.
type weechat struct {
	t   *testing.T
	dir string
}

func startWeechat(t *testing.T, dir string, port int, pin string) otherClient {
	t.Helper()
	w := weechat{t, filepath.Join(dir, "weechat")}
	args := []string{"--dir", w.dir}
	for _, command := range []string{
		"/set logger.file.flush_delay 0", "/set irc.server_default.capabilities *",
		"/set irc.server_default.autoreconnect_delay 1",
		"/set irc.server_default.connection_timeout 3600",
		"/set irc.server_default.sasl_timeout 3600",
		fmt.Sprintf("/server add papaya 127.0.0.1/%d -ssl -ssl_fingerprint=%s -nicks=guest "+
			"-sasl_username=guest -sasl_password=kettle-is-on -autojoin=#tea", port, pin),
		"/connect papaya",
	} {
		args = append(args, "--run-command", command)
	}
	cmd := exec.Command("weechat-headless", args...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(w.dir, "logs", "irc.server.papaya.weechatlog"))
			t.Logf("WeeChat: %s\n%s", said.String(), log)
		}
	})
	return w
}

func (w weechat) types(line string) {
	w.t.Helper()
	pipes, err := filepath.Glob(filepath.Join(w.dir, "weechat_fifo_*"))
	if err != nil || len(pipes) != 1 {
		w.t.Fatalf("the pipe of WeeChat: %q, %v", pipes, err)
	}
	if err := os.WriteFile(pipes[0], []byte("irc.papaya.#tea *"+line+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w weechat) shows(text string) string {
	w.t.Helper()
	return awaits(w.t, text, func() string {
		all, err := os.ReadFile(filepath.Join(w.dir, "logs", "irc.papaya.#tea.weechatlog"))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		return string(all)
	})
}

func (weechat) connect() string { return "/connect papaya" }
func (weechat) again() string   { return "" }
func (weechat) times() bool     { return true }

// irssi runs in a terminal.
type irssi struct{ *screen }

func startIrssi(t *testing.T, dir string, port int, pin string) otherClient {
	t.Helper()
	home := filepath.Join(dir, "irssi")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`servers = ( { address = "127.0.0.1"; chatnet = "papaya"; port = "%d"; use_tls = "yes"; tls_verify = "no"; tls_pinned_cert = "%s"; autoconnect = "yes"; } );
chatnets = { papaya = { type = "IRC"; nick = "guest"; sasl_mechanism = "PLAIN"; sasl_username = "guest"; sasl_password = "kettle-is-on"; }; };
channels = ( { name = "#tea"; chatnet = "papaya"; autojoin = "yes"; } );
settings = { core = { user_name = "guest"; real_name = "guest"; server_reconnect_time = "10s"; }; "irc/core" = { cmd_queue_speed = "10msecs"; cmds_max_at_once = "100"; }; };
`, port, colons(pin))
	if err := os.WriteFile(filepath.Join(home, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := irssi{newScreen(t, dir, "TZ=UTC irssi --home irssi")}
	s.tmux("resize-window", "-x", "120", "-y", "60")
	s.shows("[Act: 2]") // the room has a window of its own
	s.types("/window 2")
	s.shows("[#tea]")
	return s
}

// colons formats a fingerprint for irssi: 0A:1B:...
func colons(pin string) string {
	var pairs []string
	for i := 0; i+2 <= len(pin); i += 2 {
		pairs = append(pairs, strings.ToUpper(pin[i:i+2]))
	}
	return strings.Join(pairs, ":")
}

func (s irssi) types(line string) {
	s.t.Helper()
	s.screen.types("-l", line)
	s.screen.types("Enter")
}

func (s irssi) shows(text string) string {
	s.t.Helper()
	return awaits(s.t, text, func() string { return s.tmux("capture-pane", "-p") })
}

func (irssi) connect() string { return "/connect papaya" }
func (irssi) again() string   { return "/reconnect all" } // by itself it waits for half a minute
func (irssi) times() bool     { return false }

// awaits waits until look returns something with a text.
func awaits(t *testing.T, text string, look func() string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		all := look()
		if strings.Contains(all, text) {
			return all
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %q: there is\n%s", text, all)
		}
	}
}

// newFriend logs in to an account over TLS, and joins #tea.
func newFriend(t *testing.T, port int, account string) *irctest.Client {
	t.Helper()
	c := irctest.DialTLS(t, fmt.Sprintf("127.0.0.1:%d", port),
		&tls.Config{InsecureSkipVerify: true})
	word := base64.StdEncoding.EncodeToString([]byte("\x00" + account + "\x00kettle-is-on"))
	c.Send("CAP REQ :sasl echo-message server-time away-notify\r\nAUTHENTICATE PLAIN\r\n"+
		"AUTHENTICATE %s", word)
	c.Expect(" 903 ") // RPL_SASLSUCCESS
	c.Send("CAP END")
	c.Register(account)
	c.Send("JOIN #tea")
	c.Expect("JOIN #tea")
	return c
}

// timeOf returns the time of a line with server-time, to the second, as people write it.
func timeOf(line string) string {
	when, _, _ := strings.Cut(strings.TrimPrefix(line, "@time="), ".")
	return strings.ReplaceAll(when, "T", " ")
}
