package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
	"interleave/papaya/account"
)

// TestMain makes passwords cheap, in the servers that the tests start, too: a hash of the standard
// cost, of which a server computes one for each account at each start, takes most of a second under
// the race detector. papaya/account tests what a hash costs.
func TestMain(m *testing.M) {
	account.Standard = account.Cost{MemoryKiB: 1024, Passes: 1, Lanes: 1}
	testscript.Main(m, map[string]func(){"papaya": bounded(soon), "talk": bounded(talk),
		"forgetful": bounded(forgetful)})
}

// longest bounds the life of a program that a script has started, even if the script has ended.
const longest = 3 * patience

// link makes this test program the program papaya in a folder.
func link(t *testing.T, dir string) string {
	t.Helper()
	return linkAs(t, dir, "papaya")
}

// linkAs makes this test program one of those of TestMain, which decides by the program's name.
func linkAs(t *testing.T, dir, name string) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, name)
	if err := os.Symlink(own, program); err != nil {
		t.Fatal(err)
	}
	return program
}

func bounded(program func()) func() {
	return func() {
		time.AfterFunc(longest,
			func() { fmt.Fprintln(os.Stderr, "ended: lives for too long"); os.Exit(3) })
		program()
	}
}

// TestScripts runs testdata/script/*.txtar: commands as users type them. The program talk is below.
func TestScripts(t *testing.T) {
	library, err := filepath.Abs("testdata/library.sh")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LIBRARY", library)
			for _, name := range []string{"PORT", "TLSPORT", "METRICSPORT"} {
				env.Setenv(name, fmt.Sprint(freeport.For(t)))
			}
			return nil
		},
	})
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// talk is a client of IRC for scripts: `talk ADDRESS [FINGERPRINT [FOLDER]]`. With a fingerprint it
// uses TLS, and the server's certificate must have that fingerprint. The folder has the client's
// certificate and key. Each line of its input is `say LINE`, `plain NAME PASSWORD` (SASL PLAIN),
// `await PATTERN`, or `silent`: from there on it does not answer PING. It prints what it receives.
func talk() {
	d := &net.Dialer{Timeout: patience}
	var dialled net.Conn
	var err error
	if len(os.Args) > 2 {
		var mine []tls.Certificate
		if len(os.Args) > 3 {
			one, err := tls.LoadX509KeyPair(filepath.Join(os.Args[3], "certificate.pem"),
				filepath.Join(os.Args[3], "key.pem"))
			fail(err)
			mine = append(mine, one)
		}
		dialled, err = tls.DialWithDialer(d, "tcp", os.Args[1], &tls.Config{Certificates: mine,
			InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
				sum := sha256.Sum256(s.PeerCertificates[0].Raw)
				if hex.EncodeToString(sum[:]) != os.Args[2] {
					return errors.New("the fingerprint is another")
				}
				return nil
			}})
	} else {
		dialled, err = d.Dial("tcp", os.Args[1])
	}
	fail(err)
	defer dialled.Close()
	c := irctest.NewConn(dialled)
	script := bufio.NewScanner(os.Stdin)
	for script.Scan() {
		verb, rest, _ := strings.Cut(script.Text(), " ")
		switch verb {
		case "say":
			_, err := fmt.Fprintf(c, "%s\r\n", rest)
			fail(err)
		case "plain":
			name, password, _ := strings.Cut(rest, " ")
			_, err := fmt.Fprintf(c, "AUTHENTICATE %s\r\n",
				base64.StdEncoding.EncodeToString([]byte("\x00"+name+"\x00"+password)))
			fail(err)
		case "silent":
			c.Silent = true
		case "await":
			wanted := regexp.MustCompile(rest)
			if _, err := c.Await(func(line string) bool {
				fmt.Println(line)
				return wanted.MatchString(line)
			}); err != nil {
				fail(fmt.Errorf("awaiting %s: %w", rest, err))
			}
		default:
			fail(fmt.Errorf("no verb %q", verb))
		}
	}
	fail(script.Err())
}

// broken is an output whose reader has gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatFails(t *testing.T) {
	for _, args := range [][]string{{"admin", "example"}} {
		var stderr bytes.Buffer
		if code := realMain(args, strings.NewReader(""), broken{}, &stderr); code != exitFailed ||
			!strings.Contains(stderr.String(), "broken pipe") {
			t.Errorf("%v: status %d: %s", args, code, stderr.String())
		}
	}
}
