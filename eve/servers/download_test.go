package servers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The page that downloads a file: it is there when it is whole, and nothing of it is there after an
// error, when its time is over, and after Ctrl-C.
func TestPageOfDownload(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	var seen connections
	mux := http.NewServeMux()
	mux.HandleFunc("/good.bin", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Write(pattern(0, size))
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/good.bin", http.StatusFound)
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Write(pattern(0, size/2))
	})
	mux.HandleFunc("/stuck", func(w http.ResponseWriter, r *http.Request) {
		w.Write(pattern(0, 1000))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := httptest.NewUnstartedServer(mux)
	s.Config.ConnState = seen.count
	s.Start()
	t.Cleanup(s.Close)
	exe := page(t, "download")
	run := func(words ...string) (*process, string) {
		to := filepath.Join(t.TempDir(), "file")
		return startWith(t, append([]string{exe, "-o", to}, words...), "EVE_WORKERS=2"), to
	}
	mustHave := func(p *process, to string, want int, why string) {
		t.Helper()
		status := 0
		if want < 0 {
			status = 1
		}
		p.mustExit(status)
		got, err := os.ReadFile(to)
		left, _ := filepath.Glob(to + "*")
		if want >= 0 && (err != nil || string(got) != string(pattern(0, want)) || len(left) != 1) {
			t.Errorf("got %d bytes, %v, %v, want %d", len(got), left, err, want)
		} else if want < 0 && len(left) > 0 {
			t.Errorf("%v is left", left)
		}
		if said := p.err.String(); !strings.Contains(said, why) {
			t.Errorf("got %q, want %q in it", said, why)
		}
	}
	for _, path := range []string{"/good.bin", "/moved"} {
		p, to := run(s.URL + path)
		mustHave(p, to, size, " of 21.0 MB, ")
	}
	p, to := run(s.URL + "/nothing")
	mustHave(p, to, -1, "status 404")
	p, to = run(s.URL + "/cut")
	mustHave(p, to, -1, "the message is cut off")
	p, to = run("-w", "1", s.URL+"/stuck")
	mustHave(p, to, -1, "timeout")
	p, _ = run("/nowhere/x", s.URL+"/good.bin")
	p.mustExit(2)
	p, to = run(s.URL + "/stuck")
	p.eventually("the download has begun", func() bool {
		_, err := os.Stat(to + ".part")
		return err == nil
	})
	p.signal(syscall.SIGINT)
	mustHave(p, to, -1, "cancelled")
	p.eventually("no connection is left", func() bool { return seen.open.Load() == 0 })
}
