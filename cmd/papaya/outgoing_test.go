package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// TestOutgoingWebhook: what was said before the server was killed and could not be sent is sent
// after the next start, signed as docs/papaya/bots.md says, and the answer is said in the room.
func TestOutgoingWebhook(t *testing.T) {
	dir := t.TempDir()
	program := link(t, dir)
	port := freeport.For(t)
	conf := fmt.Sprintf("[listen]\nplain = [\"127.0.0.1:%d\"]\ntls = []\n"+
		"[accounts]\nrequired = false\n"+patient, port)
	if err := os.WriteFile(filepath.Join(dir, "papaya.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var refuses atomic.Bool
	var key atomic.Value
	texts, refused := make(chan string, 100), make(chan struct{}, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			refused <- struct{}{}
			return
		}
		body, err := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(key.Load().(string)))
		mac.Write(body)
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); err != nil ||
			r.Header.Get("X-Papaya-Signature") != want {
			t.Errorf("signed %s, want %s; %v", r.Header.Get("X-Papaya-Signature"), want, err)
		}
		var d struct{ Messages []struct{ From, Text string } }
		if err := json.Unmarshal(body, &d); err != nil {
			t.Error(err)
		}
		for _, m := range d.Messages {
			texts <- m.From + ": " + m.Text
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text": "noted"}`)
	}))
	defer receiver.Close()
	cmd := exec.CommandContext(t.Context(), program, "webhook", "--config", "papaya.toml", "send",
		"#tea", receiver.URL, "--name", "ci")
	cmd.Dir = dir
	token, err := cmd.Output()
	if err != nil {
		t.Fatalf("making a webhook: %v", err)
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(token))))
	key.Store(hex.EncodeToString(sum[:]))
	kill := startServer(t, program, dir)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	ann := irctest.Dial(t, address).Register("ann", "#tea")
	// What is said before the webhook has begun is not sent.
	var heard []string
	for len(heard) == 0 {
		ann.Send("PRIVMSG #tea :begin")
		select {
		case text := <-texts:
			heard = append(heard, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
	refuses.Store(true)
	ann.Send("PRIVMSG #tea :while it refuses\r\nPING said")
	ann.Expect("PONG ") // it is in the log; what is refused now may be what was said before
	<-refused
	kill()
	refuses.Store(false)
	startServer(t, program, dir)
	ann = irctest.Dial(t, address).Register("ann", "#tea")
	ann.Send("PRIVMSG #tea :after the start")
	for !slices.Contains(heard, "ann: after the start") {
		select {
		case text := <-texts:
			heard = append(heard, text)
		case <-time.After(irctest.Patience):
			t.Fatalf("the URL has got %q", heard)
		}
	}
	at := slices.Index(heard, "ann: while it refuses")
	if at < 0 || slices.ContainsFunc(heard[:at], func(text string) bool {
		return text != "ann: begin"
	}) {
		t.Errorf("the URL has got %q", heard)
	}
	if lines := ann.Expect("noted"); !strings.HasPrefix(lines[len(lines)-1],
		":ci/out!program@papaya PRIVMSG #tea :noted") {
		t.Errorf("in the room: %q", lines)
	}
}
