//go:build linux

package gonet

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOutsiderCurl has curl download, upload, request ranges, resume and read slowly, with both
// versions of HTTP, over TLS, and many at once.
func TestOutsiderCurl(t *testing.T) {
	requireTools(t, "curl of curl", "ip of iproute2")
	s := capturedKernel(t)
	dir := t.TempDir()
	body := pattern(fewer(3_000_000, 4))
	size := len(body)
	if err := os.WriteFile(filepath.Join(dir, "sent"), body, 0o600); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		if r.Method != http.MethodPut {
			http.ServeContent(w, r, "body", time.Time{}, bytes.NewReader(body))
			return
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r.Body); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%x", sum.Sum(nil))
	}))
	_ = web.Listener.Close() // a listener of the kernel, which httptest always opens
	l, err := s.Listen("tcp", ":443")
	if err != nil {
		t.Fatal(err)
	}
	web.Listener, web.EnableHTTP2 = l, true
	web.StartTLS()
	defer web.Close()
	authority := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(authority,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	got := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, at := range []string{"10.9.0.2", "[2001:db8::2]"} {
		for version, flag := range map[string]string{"1.1": "--http1.1", "2": "--http2"} {
			t.Log(at, version)
			const url = "https://example.com/" // the name in httptest's certificate
			curl := func(args ...string) string {
				t.Helper()
				return run(t, "curl", append([]string{"-sS", flag, "--max-time", within, "--cacert",
					authority, "--resolve", "example.com:443:" + at}, args...)...)
			}
			if v := curl("-o", dir+"/whole", "-w", "%{http_version}", url); v != version ||
				!bytes.Equal(got("whole"), body) {
				t.Errorf("%d bytes of %d, by HTTP/%s", len(got("whole")), len(body), v)
			}
			curl("-o", dir+"/range", "-r", fmt.Sprintf("%d-%d", size/3, size*2/3-1), url)
			if !bytes.Equal(got("range"), body[size/3:size*2/3]) {
				t.Errorf("a range of %d bytes that are others", len(got("range")))
			}
			if err := os.WriteFile(dir+"/half", body[:size/2], 0o600); err != nil {
				t.Fatal(err)
			}
			curl("-C", "-", "-o", dir+"/half", url)
			if !bytes.Equal(got("half"), body) {
				t.Errorf("gone on from the half: %d bytes", len(got("half")))
			}
			if sum := curl("-T", dir+"/sent", url); sum != fmt.Sprintf("%x", sha256.Sum256(body)) {
				t.Errorf("what came up has the sum %s", sum)
			}
			curl("--limit-rate", fmt.Sprint(4*size), "-o", dir+"/slow", url)
			if !bytes.Equal(got("slow"), body) {
				t.Errorf("read slowly: %d bytes", len(got("slow")))
			}
			curl("-Z", "--parallel-max", "10", "-o", dir+"/many#1", url+"?[1-10]")
			for i := 1; i <= 10; i++ {
				if b := got(fmt.Sprintf("many%d", i)); !bytes.Equal(b, body) {
					t.Errorf("one of many at once has %d bytes", len(b))
				}
			}
		}
	}
}

// TestOutsiderPing floods the stack with echo requests, small ones and fragmented ones.
func TestOutsiderPing(t *testing.T) {
	requireTools(t, "ping of iputils-ping", "ip of iproute2")
	capturedKernel(t)
	for _, at := range []string{"10.9.0.2", "2001:db8::2"} {
		for _, size := range [][2]string{{"56", "2000"}, {"65000", "50"}} {
			// When the stack has to wait for a core, ping still sends 100 a second, and the tap's
			// queue overflows, which is no fault of the stack. So some rounds may lose packets, but
			// not all.
			eventually(t, func() error {
				if out := run(t, "ping", "-q", "-f", "-W", "10", "-c", size[1], "-s", size[0],
					at); !strings.Contains(out, " 0% packet loss") {
					return fmt.Errorf("%s, want no loss:\n%s", at, out)
				}
				return nil
			})
		}
	}
}
