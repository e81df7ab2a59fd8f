package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/freeport"
)

// TestPreviewsOfLinks: previews are off by default. With the setting, a link gets one, one into a
// closed network none, the metrics count both, and removing the text of a room removes the image.
func TestPreviewsOfLinks(t *testing.T) {
	var pot bytes.Buffer
	if err := png.Encode(&pot, image.NewGray(image.Rect(0, 0, 32, 32))); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pot.png" {
			_, _ = w.Write(pot.Bytes())
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<title>Tea</title><meta property=og:image content=/pot.png>`)
	}))
	defer site.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	n := &notified{t: t, dir: t.TempDir(), port: freeport.For(t)}
	n.program = link(t, n.dir)
	write := func(more string) {
		text := fmt.Sprintf("[listen]\nplain = [\"127.0.0.1:%d\"]\ntls = []\n"+
			"[accounts]\nrequired = false\n[preview]\nports = [%q]\nnetworks = [\"127.0.0.1\"]\n"+
			more+patient, n.port, port)
		if err := os.WriteFile(filepath.Join(n.dir, "papaya.toml"), []byte(text),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	images := func() int {
		list, err := os.ReadDir(filepath.Join(n.dir, "papaya-data", "previews"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return len(list)
	}
	write("")
	kill := startServer(t, n.program, n.dir)
	ann := n.connect()
	ann.Send("CAP LS 302\r\nPING offered")
	if got := strings.Join(ann.Expect("PONG chat :offered"), "\n"); strings.Contains(got,
		"papaya/preview") {
		t.Errorf("previews are on by default: %s", got)
	}
	kill()

	write("enabled = true\n")
	kill = startServer(t, n.program, n.dir)
	ann = n.connect()
	ann.Send("CAP REQ :message-tags papaya/preview\r\nCAP END")
	ann.Register("ann", "#tea")
	ann.Send("PRIVMSG #tea :http://127.0.0.2:%s/ http://127.0.0.1:%d/ %s/brew", port, n.port,
		site.URL)
	got := ann.ExpectLine(" TAGMSG #tea")
	if !strings.Contains(got, `"url":"`+site.URL+`/brew","title":"Tea","image":"`) {
		t.Errorf("the preview is %s", got)
	}
	if n := images(); n != 1 {
		t.Errorf("%d images are kept", n)
	}
	for _, want := range []string{`papaya_previews_total{result="made"} 1`,
		`papaya_previews_total{result="fenced"} 1`, `papaya_previews_total{result="refused"} 1`,
		"papaya_preview_images 1"} {
		for end := time.Now().Add(patience); !strings.Contains(n.run("admin", "metrics"),
			want+"\n"); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the metrics lack %s:\n%s", want, n.run("admin", "metrics"))
			}
		}
	}
	n.run("admin", "room", "remove", "#tea", "--text")
	if n := images(); n != 0 {
		t.Errorf("%d images are kept of a room that was removed", n)
	}
	ann.Send("JOIN #tea\r\nPRIVMSG #tea :%s/again", site.URL)
	ann.Expect(" TAGMSG #tea")
	kill()

	write("")
	startServer(t, n.program, n.dir)
	if n := images(); n != 0 {
		t.Errorf("%d images are kept without previews", n)
	}
}
