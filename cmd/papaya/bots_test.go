package main

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// TestBotOfTheDocumentation runs the bot of docs/papaya/bots.md, which `papaya bot example` prints:
// it answers what is said after its start.
func TestBotOfTheDocumentation(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIP: install python3 for the test of the bot in docs/papaya/bots.md")
	}
	page, err := os.ReadFile("../../docs/papaya/bots.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("docs/papaya/bots.md has no bot")
	}
	dir := t.TempDir()
	program := link(t, dir)
	if out, err := exec.Command(program, "bot", "example").Output(); err != nil ||
		string(out) != code {
		t.Errorf("papaya bot example prints another bot than the page has: %v\n%s", err, out)
	}
	plain, web := freeport.For(t), freeport.For(t)
	// A proxy ends TLS, though not here: the bot's Python need not trust a certificate.
	for name, text := range map[string]string{"bot.py": code, "papaya.toml": fmt.Sprintf(
		"[listen]\nplain = [\"127.0.0.1:%d\"]\ntls = []\nproxied_web = [\"127.0.0.1:%d\"]\n"+
			"[accounts]\nrequired = false\n"+patient, plain, web)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(words ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	add := run(program, "bot", "--config", "papaya.toml", "add", "clock", "--room", "#tea")
	token, err := add.Output()
	if err != nil {
		t.Fatalf("making a token: %v", err)
	}
	startServer(t, program, dir)
	ann := irctest.Dial(t, fmt.Sprintf("127.0.0.1:%d", plain)).Register("ann", "#tea")
	proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http",
		Host: fmt.Sprintf("127.0.0.1:%d", web)}))
	t.Cleanup(proxy.Close)
	bot := run(python, "bot.py", proxy.URL, strings.TrimSpace(string(token)), "tea")
	var said strings.Builder
	bot.Stderr = &said
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = bot.Wait() // what it has said tells more
		close(ended)
	}()
	t.Cleanup(func() {
		_ = bot.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(said.String())
		}
	})
	// What is said before the bot has read the room for the first time is not answered.
	for deadline := time.Now().Add(irctest.Patience); ; time.Sleep(50 * time.Millisecond) {
		ann.Send("PRIVMSG #tea :!time\r\nPING synced")
		if slices.ContainsFunc(ann.Expect("PONG chat :synced"), func(line string) bool {
			return strings.HasPrefix(line, ":clock/bot!program@papaya PRIVMSG #tea :ann: ")
		}) {
			return
		}
		select {
		case <-ended:
			t.Fatal("the bot has ended")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the bot does not answer")
		}
	}
}
