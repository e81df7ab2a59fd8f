package servers_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An uploading is testdata/server/upload.eve under way, and the folder that it fills.
type uploading struct {
	*process
	browser
	dir  string
	port int
}

func serveUploads(t *testing.T) uploading {
	t.Helper()
	dir := t.TempDir()
	p := startWith(t, []string{example(t, "upload"), dir}, "EVE_WORKERS=2")
	port := p.port()
	return uploading{p, newBrowser(t, port), dir, port}
}

// mustBeEmpty waits until nothing is left of a form.
func (u uploading) mustBeEmpty() {
	u.browser.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left, err := os.ReadDir(u.dir)
		if err == nil && len(left) == 0 {
			return
		}
		if err != nil || time.Now().After(end) {
			u.browser.t.Fatalf("left behind: %v, %v", left, err)
		}
	}
}

// Files come from curl and are saved whole, whatever their size; memory stays small.
func TestUploads(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here")
	}
	u := serveUploads(t)
	large, small := filepath.Join(t.TempDir(), "large"), filepath.Join(t.TempDir(), "small")
	text := []byte(strings.Repeat("0123456789abcdef\r\n--", 90<<20/20))
	for name, data := range map[string][]byte{large: text, small: []byte("\r\n--\r\n")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("curl", "-sS", "--max-time", "300", "-F", "title=a title", "-F",
		"first=@"+large, "-F", "second=@"+small, fmt.Sprintf("http://127.0.0.1:%d/", u.port)).
		CombinedOutput()
	if want := "title \nfirst large\nsecond small\n"; err != nil || string(out) != want {
		t.Fatalf("got %q, %v, want %q", out, err, want)
	}
	for name, was := range map[string]string{"2": large, "3": small} {
		same, err := exec.Command("cmp", was, filepath.Join(u.dir, name)).CombinedOutput()
		if err != nil {
			t.Errorf("part %s: %v: %s", name, err, same)
		}
	}
	if got, err := os.ReadFile(filepath.Join(u.dir, "1")); err != nil || string(got) != "a title" {
		t.Errorf("the title is %q, %v", got, err)
	}
	most := u.mostMemory()
	t.Logf("%d KiB for %d MiB", most, len(text)>>20)
	if *sanitize == "" && most > 48<<10 {
		t.Errorf("the server has had %d KiB in memory for %d bytes", most, len(text))
	}
}

// A form that is broken or too large, and a client that goes, leave nothing behind.
func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	u := serveUploads(t)
	const kind = "multipart/form-data; boundary=x"
	start := "--x\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n"
	for _, c := range []struct {
		kind, body string
		status     int
	}{
		{"text/plain", "", 415},
		{kind, start + "cut off", 400},
		{kind, start + "1\r\n--x\r\nno head", 400},
		{kind, strings.Repeat(start+"1\r\n", 11), 413},
		{kind, start + strings.Repeat("1", 101<<20), 413},
	} {
		a, text := u.ask("POST", "/", strings.NewReader(c.body), "Content-Type", c.kind)
		if a.StatusCode != c.status {
			t.Errorf("%q: got %d %q, want %d", head(c.body), a.StatusCode, text, c.status)
		}
		u.mustBeEmpty()
	}
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", u.port))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: 100000"+
		"\r\n\r\n%s", kind, start+strings.Repeat("1", 2000))
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(u.dir, "1")); err == nil {
			break
		}
	}
	c.Close()
	u.mustBeEmpty()
	a, text := u.ask("POST", "/", io.MultiReader(strings.NewReader(start+"1\r\n--x--")),
		"Content-Type", kind)
	if a.StatusCode != 200 || text != "a b\n" {
		t.Errorf("afterwards: got %d %q", a.StatusCode, text)
	}
}
