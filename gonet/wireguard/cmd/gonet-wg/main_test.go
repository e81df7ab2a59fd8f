package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait; nothing is expected to be fast.
const patience = 5 * time.Minute

// The environment of the test program when it is the command, and when it is in its namespace.
const (
	asCommand   = "GONET_WG_COMMAND"
	inNamespace = "GONET_WG_NAMESPACE"
)

// TestMain runs the tests in a network namespace of their own, where no address can be reached but
// the loopback, and no DNS server: what works there goes through the tunnel.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asCommand) != "":
		main()
	case os.Getenv(inNamespace) != "":
		os.Exit(m.Run())
	}
	const up = `ip link set lo up; exec "$0" "$@"`
	unshare := []string{"-rnpf", "--kill-child", "sh", "-ec", up}
	out, err := exec.Command("unshare", append(unshare, "true")...).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "SKIP: tunnels need a network namespace (root or user namespaces, "+
			"iproute2): %v %s\n", err, out)
		os.Exit(m.Run())
	}
	c := exec.Command("unshare", append(unshare, os.Args...)...)
	c.Env = append(os.Environ(), inNamespace+"=1")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(c.ProcessState.ExitCode())
}

// output collects what a process writes.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// process is a gonet-wg that runs.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{}
}

// start starts the command. It is killed at the end of the test.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	if os.Getenv(inNamespace) == "" {
		t.Skip("SKIP: no network namespace")
	}
	p := &process{cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the tests look at its state
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	})
	return p
}

// await waits until a line of the output matches, and returns its submatches.
func (p *process) await(t *testing.T, o *output, pattern string) []string {
	t.Helper()
	r := regexp.MustCompile("(?m)" + pattern)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if m := r.FindStringSubmatch(o.String()); m != nil {
			return m
		}
		select {
		case <-p.ended:
			if m := r.FindStringSubmatch(o.String()); m != nil {
				return m
			}
			t.Fatalf("%v, without %s\n%s%s", p.cmd.ProcessState, pattern, &p.stdout, &p.stderr)
		default:
		}
	}
	t.Fatalf("no %s in\n%s%s", pattern, &p.stdout, &p.stderr)
	return nil
}

// at returns the address at which a service listens.
func (p *process) at(t *testing.T, service string) string {
	t.Helper()
	return p.await(t, &p.stdout, `^`+service+`$`)[1]
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// wait waits for the end, and returns the exit status.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("it has not ended\n%s%s", &p.stdout, &p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// write writes a file that only its owner can read.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The keys of files that are only read. They are of nobody.
const (
	private = "yAnz5TF+lXXJte14tyji3zlMNq+hd2rYUIgJBgB3fBk="
	public  = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	file    = "[Interface]\nPrivateKey = " + private + "\nAddress = 10.9.0.2/24\nMTU = 1400\n" +
		"DNS = 10.9.0.1\n[Peer]\nPublicKey = " + public + "\nAllowedIPs = 0.0.0.0/0, ::/0\n" +
		"Endpoint = vpn.invalid:51820\n"
)

// TestWords has command lines, right and wrong, that need no tunnel.
func TestWords(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	made := filepath.Join(dir, "made")
	for name, text := range map[string]string{
		"wg0.conf": file, "empty.conf": "", "auth": "me:secret\n", "noauth": "me\n",
		"bad.conf":  strings.Replace(file, "1400", "14", 1) + "Endpoint = " + private + "\n",
		"post.conf": strings.Replace(file, "MTU", "PostUp = touch "+made+"\nMTU", 1),
		"bare.conf": "[Interface]\nPrivateKey = " + private + "\nAddress = 10.9.0.2\n" +
			"[Peer]\nPublicKey = " + public + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const described = `^key       \S{43}=\naddress   10.9.0.2/24\ndns       10.9.0.1\n` +
		`mtu       1400\npeer      xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= ` +
		`at vpn.invalid:51820 for 0.0.0.0/0, ::/0\n$`
	for _, c := range []struct {
		args, stdin    string
		code           int
		stdout, stderr string // patterns
	}{
		{"wg0.conf --check", "", 0, described, `^$`},
		{"--check -", file, 0, described, `^$`},
		{"--check -", "nothing", exitFailed, `^$`, `standard input:1: expected KEY = VALUE`},
		{"--check wg0.conf --dns fd00::53", "", 0, `dns +fd00::53\n`, `^$`},
		{"--check --auth auth wg0.conf", "", 0, described, `^$`},
		{"--check --auth noauth wg0.conf", "", exitFailed, `^$`, `noauth: expected USER:PASSWORD`},
		{"--check --auth none wg0.conf", "", exitFailed, `^$`, `open none: no such file`},
		{"--check post.conf", "", 0, described,
			`^gonet-wg: post.conf:4: PostUp is ignored: no command of the file is executed\n$`},
		{"--check bare.conf", "", 0, `peer +\S+ without an endpoint for nothing\n`,
			`bare.conf:4: \[Peer\] has no AllowedIPs`},
		{"--check bad.conf", "", exitFailed, `^$`, `^gonet-wg: bad.conf:4: MTU: "14" is not a ` +
			`number from 576 to 65535\ngonet-wg: bad.conf:10: Endpoint was given already, in ` +
			`line 9\n$`},
		{"--check empty.conf", "", exitFailed, `^$`, `empty.conf: no \[Interface\]`},
		{"--check wg1", "", exitFailed, `^$`, `open wg1: no such file.*/etc/wireguard/wg1.conf`},
		{"--check .", "", exitFailed, `^$`, `is a directory`},
		{"--help", "", 0, `Usage: gonet-wg CONF`, `^$`},
		{"--version", "", 0, `^gonet-wg version \S+\n$`, `^$`},
		{"", "", exitUsage, `^$`, "expected one CONF.*; `gonet-wg --help` says more"},
		{"wg0.conf wg1.conf", "", exitUsage, `^$`, `expected one CONF`},
		{"wg0.conf --sock5 1080", "", exitUsage, `^$`, `not defined: -sock5`},
		{"wg0.conf --http", "", exitUsage, `^$`, `needs an argument: -http`},
		{"wg0.conf --http :8118", "", exitUsage, `^$`, `such as 127.0.0.1:8118`},
		{"wg0.conf --socks5 65536", "", exitUsage, `^$`, `not a number from 0 to 65535`},
		{"wg0.conf --forward 8080=80", "", exitUsage, `^$`, `"80": expected HOST:PORT`},
		{"wg0.conf --remote 80", "", exitUsage, `^$`, `80: expected LISTEN=TO`},
		{"wg0.conf --dns dns.test", "", exitUsage, `^$`, `not an address`},
		{"wg0.conf --clients 0", "", exitUsage, `^$`, `--clients 0: expected 1 to`},
		{"wg0.conf --status 10ms", "", exitUsage, `^$`, `--status 10ms: expected 1s or more`},
		{"wg0.conf --status 60", "", exitUsage, `^$`, `missing unit in duration`},
	} {
		var stdout, stderr bytes.Buffer
		code := realMain(strings.Fields(c.args), strings.NewReader(c.stdin), &stdout, &stderr)
		if code != c.code || !regexp.MustCompile(c.stdout).MatchString(stdout.String()) ||
			!regexp.MustCompile(c.stderr).MatchString(stderr.String()) {
			t.Errorf("gonet-wg %s: exit status %d\n%s%s\nwant %d\n%s\n%s", c.args, code, &stdout,
				&stderr, c.code, c.stdout, c.stderr)
		}
		if all := stdout.String() + stderr.String(); strings.Contains(all, private[:20]) ||
			strings.Contains(all, "secret") && !strings.HasPrefix(c.args, "--help") {
			t.Errorf("gonet-wg %s shows a secret:\n%s", c.args, all)
		}
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("PostUp was executed")
	}
}

// TestReadableFiles warns of a file that others can read, unless its folder keeps them out.
func TestReadableFiles(t *testing.T) {
	for _, c := range []struct {
		file, folder os.FileMode
		warns        bool
	}{{0o600, 0o755, false}, {0o640, 0o755, false}, {0o644, 0o755, true}, {0o644, 0o700, false}} {
		conf := write(t, "wg0.conf", file)
		// The order matters: the owner must get into the folder.
		err := errors.Join(os.Chmod(conf, c.file), os.Chmod(filepath.Dir(conf), c.folder))
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := realMain([]string{"--check", conf}, nil, &stdout, &stderr)
		warned := strings.Contains(stderr.String(), "can be read by every user of this machine")
		if code != 0 || warned != c.warns {
			t.Errorf("%v in %v: exit status %d, %s", c.file, c.folder, code, &stderr)
		}
	}
}

// TestEndpointWithoutAddress has a peer whose name cannot be resolved: there is no DNS server in
// the namespace.
func TestEndpointWithoutAddress(t *testing.T) {
	p := start(t, write(t, "wg0.conf", file))
	if code := p.wait(t); code != exitFailed {
		t.Errorf("exit status %d", code)
	}
	p.await(t, &p.stderr, `^gonet-wg: the endpoint vpn.invalid:51820 of a peer: lookup vpn.invalid`)
}
