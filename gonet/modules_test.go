//go:build !race

package gonet_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestWireGuardModule runs the tests of the module in the folder wireguard, which ./... leaves out.
func TestWireGuardModule(t *testing.T) { testModule(t, "wireguard") }

// TestWintunModule runs those of the module in the folder wintun that need no Windows.
func TestWintunModule(t *testing.T) { testModule(t, "wintun") }

// TestBesideModule runs those of the module in the folder beside: each measurement once.
func TestBesideModule(t *testing.T) { testModule(t, "beside") }

// testModule runs the tests of a module in a folder.
func testModule(t *testing.T, folder string) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles another module")
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath")
		return cmd.CombinedOutput()
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("SKIP: the libraries of gonet/%s cannot be fetched: %v\n%s", folder, err, out)
	}
	// Without -vet=off, go test would look for some of the same mistakes once more.
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-count=1", "-vet=off", "./..."}} {
		if out, err := run(args...); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
