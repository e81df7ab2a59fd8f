package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// confined is a program that confines itself as in the sandbox, `confined FOLDER`, and becomes
// another, which prints what is not as it should be. In the folder are those of a user, `home`, of
// its configuration, `etc`, and of the API socket, `api`.
func confined() {
	dir := os.Args[1]
	if len(os.Args) == 2 {
		self, err := os.Executable()
		fail(err)
		w := slirpFlags{resolvConf: filepath.Join(dir, "etc", "resolv.conf"),
			api: filepath.Join(dir, "api", "socket")}
		runtime.LockOSThread()
		fail(confine(w.sandboxFiles("/bin/true", self)))
		program := filepath.Join(dir, "confined")
		fail(syscall.Exec(program, []string{program, dir, "inside"}, os.Environ()))
	}
	wrong := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	home := filepath.Join(dir, "home", "file")
	for name, f := range map[string]func() error{
		"read": func() error { _, err := os.ReadFile(home); return err },
		"read another": func() error {
			_, err := os.ReadFile(filepath.Join(dir, "etc", "target"))
			return err
		},
		"list":   func() error { _, err := os.ReadDir(filepath.Dir(home)); return err },
		"change": func() error { return os.WriteFile(home, nil, 0o600) },
		"remove": func() error { return os.Remove(home) },
		"make":   func() error { return os.WriteFile(home+"2", nil, 0o600) },
		"folder": func() error { return os.Mkdir(home+"3", 0o700) },
		"configure": func() error {
			return os.WriteFile(filepath.Join(dir, "etc", "x"), nil, 0o600)
		},
		"api": func() error { _, err := os.ReadDir(filepath.Join(dir, "api")); return err },
		"socket": func() error {
			_, err := net.Listen("unix", filepath.Join(dir, "home", "socket"))
			return err
		},
		"link": func() error {
			return os.Link(filepath.Join(dir, "etc", "target"), filepath.Join(dir, "api", "target"))
		},
	} {
		if err := f(); !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EXDEV) {
			wrong("%s: %v", name, err)
		}
	}
	for _, name := range []string{filepath.Join(dir, "etc", "resolv.conf"), "/etc/passwd",
		"/proc/sys/net/core/somaxconn", "/proc/self/cgroup"} {
		if _, err := os.ReadFile(name); err != nil {
			wrong("what is needed: %v", err)
		}
	}
	path := filepath.Join(dir, "api", "socket")
	for range 2 { // the second one replaces what kill -9 has left
		l, err := listenAPI(path)
		if err != nil {
			wrong("the API socket: %v", err)
			return
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close() // never fails
	}
	if err := os.Remove(path); err != nil {
		wrong("the API socket: %v", err)
	}
}

// TestConfined runs a program in the sandbox's confinement.
func TestConfined(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"home", "etc", "api", "run"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/file", "etc/target", "run/resolv.conf"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "confined")
	if err := errors.Join(os.Symlink(self, program),
		os.Symlink("../run/resolv.conf", filepath.Join(dir, "etc", "resolv.conf"))); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, dir).CombinedOutput()
	if err != nil && strings.Contains(string(out), "no landlock") {
		t.Skipf("SKIP: %s", out)
	}
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
