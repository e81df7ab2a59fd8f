package netstack

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestExamples builds the three examples of wireguard-go's package netstack with one import
// changed, and has two of them talk. They are read where the go command keeps that module.
func TestExamples(t *testing.T) {
	examples := filepath.Join(wireguardFolder(t), "tun", "netstack", "examples")
	const theirs, ours = `"golang.zx2c4.com/wireguard/tun/netstack"`,
		`"interleave/gonet/wireguard/netstack"`
	dir := t.TempDir()
	for _, name := range []string{"http_client", "http_server", "ping_client"} {
		text, err := os.ReadFile(filepath.Join(examples, name+".go"))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(theirs)); n != 1 {
			t.Fatalf("%s: %d imports of %s", name, n, theirs)
		}
		file := filepath.Join(dir, name+".go")
		text = bytes.Replace(text, []byte(theirs), []byte(ours), 1)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), file)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	// They have a fixed port, so they run in a network namespace. The server logs that it is up
	// before it listens in the tunnel: the client may be refused once.
	const script = `ip link set lo up
./http_server >server.log 2>&1 &
until grep -q 'now Up' server.log; do sleep 0.05; done
until ./http_client >client.log 2>&1; do sleep 0.05; done
grep -o 'Hello from userspace TCP!' client.log
`
	run := exec.Command("timeout", "300", "unshare", "-rnpf", "--kill-child", "sh", "-ec", script)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if probe := exec.Command("unshare", "-rn", "ip", "link", "set", "lo", "up"); err != nil &&
		probe.Run() != nil {
		t.Skipf("SKIP: the examples were built; to run, they need a network namespace: %s", out)
	}
	if err != nil || string(out) != "Hello from userspace TCP!\n" {
		logged, _ := os.ReadFile(filepath.Join(dir, "client.log"))
		t.Errorf("%v: %s\nthe client: %s", err, out, logged)
	}
}
