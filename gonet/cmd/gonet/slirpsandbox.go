package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// sandboxes are the words of setpriv (util-linux) for a process that has its tap, the strictest
// first: it can gain no privileges, and keeps no capability but that for ports below 1024. The
// second one is for a process that may not change its bounding set, and has no capabilities then.
var sandboxes = [][]string{
	{"--no-new-privs", "--inh-caps=-all", "--bounding-set=-all,+net_bind_service"},
	{"--no-new-privs", "--inh-caps=-all"},
}

// enterSandbox starts this process anew without privileges, under the same PID, and hands it the
// tap. Capabilities and the rules of landlock are a thread's, and those of a running process in Go
// cannot all be changed; a program that is started has those of the thread that starts it.
// enterSandbox returns only if that fails.
func (w *slirpFlags) enterSandbox(tap int, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return fmt.Errorf("it needs the setpriv command of util-linux: %w", err)
	}
	i := slices.IndexFunc(sandboxes, func(words []string) bool {
		return exec.Command(setpriv, append(slices.Clone(words), "true")...).Run() == nil
	})
	if i < 0 {
		return errors.New("setpriv cannot drop the privileges of this process")
	}
	for _, fd := range []int{tap, w.exitFD, w.readyFD} {
		if fd < 0 {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return err
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := confine(w.sandboxFiles(setpriv, self)); err != nil {
		fmt.Fprintln(stderr, "gonet: --enable-sandbox hides no files here:", err)
	}
	args := append(append([]string{setpriv}, sandboxes[i]...), "--", self)
	return syscall.Exec(setpriv, append(args, w.inSandbox(self, tap)...), os.Environ())
}

// inSandbox returns the words of the command that takes over the tap: the user's flags, without
// those about the namespace, in which all is done.
func (w *slirpFlags) inSandbox(self string, tap int) (all []string) {
	if filepath.Base(self) != slirp4netns {
		all = append(all, "slirp")
	}
	done := []string{"netns", "netns-type", "userns-path", "configure", "macaddress",
		"enable-sandbox"}
	w.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(done, f.Name) {
			all = append(all, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(all, "--netns-type=tapfd", "--", strconv.Itoa(tap), w.tap.Name)
}
