//go:build !race

package gonet_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestWireGuardModule runs the tests of the module in the folder wireguard, which ./... leaves out.
func TestWireGuardModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles wireguard-go")
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = "wireguard"
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath")
		return cmd.CombinedOutput()
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("SKIP: the libraries of gonet/wireguard cannot be fetched: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-count=1", "./..."}} {
		if out, err := run(args...); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
