package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// forbidden is a program that forbids its own system calls, and prints what is not as it should be
// then.
func forbidden() {
	fail(forbidCalls())
	wrong := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	// Arguments with which none of them does anything where it is not forbidden.
	const no = ^uintptr(0)
	for _, call := range forbiddenCalls {
		if _, _, errno := syscall.Syscall6(uintptr(call), no, no, no, no, no, no); errno !=
			unix.EPERM {
			wrong("call %d: %v", call, errno)
		}
	}
	for _, x := range []struct {
		name                string
		call, one, two, arg uintptr
		want                syscall.Errno
	}{
		{"clone", unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_FS, 0, 0, unix.EPERM},
		{"clone3", unix.SYS_CLONE3, 0, 0, 0, unix.ENOSYS},
		{"packets", unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0, unix.EAFNOSUPPORT},
		{"alg", unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0, unix.EAFNOSUPPORT},
		{"no family", unix.SYS_SOCKET, 0, unix.SOCK_STREAM, 0, unix.EAFNOSUPPORT},
		{"code", unix.SYS_MMAP, 0, 4096, unix.PROT_READ | unix.PROT_EXEC, unix.EPERM},
		{"more code", unix.SYS_MPROTECT, 0, 0, unix.PROT_EXEC, unix.EPERM},
	} {
		if _, _, errno := syscall.Syscall6(x.call, x.one, x.two, x.arg, unix.MAP_PRIVATE|
			unix.MAP_ANON, no, 0); errno != x.want {
			wrong("%s: %v, want %v", x.name, errno, x.want)
		}
	}
	if err := exec.Command("true").Run(); !errors.Is(err, os.ErrPermission) {
		wrong("a program: %v", err)
	}
	if err := useSockets(); err != nil {
		wrong("what is allowed: %v", err)
	}
	status, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(status) < 2 {
		wrong("%d threads, %v", len(status), err)
	}
	for _, file := range status {
		text, err := os.ReadFile(file)
		if err == nil && !(strings.Contains(string(text), "\nSeccomp:\t2\n") &&
			strings.Contains(string(text), "\nNoNewPrivs:\t1\n")) {
			wrong("%s: %s", file, text)
		}
	}
}

// useSockets does what a slirp does all the time, with some threads that wait in the kernel.
func useSockets() error {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for range 8 {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
			return err
		}
		waiting.Go(func() { _, _ = syscall.Read(ends[0], make([]byte, 1)) })
		defer syscall.Close(ends[1]) // ends the read
	}
	if _, err := net.Interfaces(); err != nil {
		return err
	}
	if _, err := os.ReadFile("/etc/passwd"); err != nil {
		return err
	}
	for _, x := range [][2]string{{"tcp", "127.0.0.1:0"},
		{"unix", fmt.Sprintf("@gonet-forbidden-%d", os.Getpid())}} {
		l, err := net.Listen(x[0], x[1])
		if err != nil {
			return err
		}
		c, err := net.Dial(x[0], l.Addr().String())
		if err != nil {
			return err
		}
		s, err := l.Accept()
		if err != nil {
			return err
		}
		if _, err := io.WriteString(c, "x"); err != nil {
			return err
		}
		if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
			return err
		}
		if err := errors.Join(c.Close(), s.Close(), l.Close()); err != nil {
			return err
		}
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return p.Close()
}

// TestForbiddenCalls runs a program with the filter of --enable-seccomp.
func TestForbiddenCalls(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "forbidden")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program).CombinedOutput()
	if err != nil && strings.Contains(string(out), "no filter of system calls for") {
		t.Skipf("SKIP: %s", out)
	}
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
