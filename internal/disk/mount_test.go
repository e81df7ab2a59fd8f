package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mounted is a disk in a folder of the test's own.
func mounted(t *testing.T) (*Disk, string) {
	t.Helper()
	if err := Able(); err != nil {
		t.Skip("SKIP: a disk that can lose its power:", err)
	}
	dir := t.TempDir()
	d, err := Mount(dir)
	if errors.Is(err, os.ErrPermission) {
		t.Skip("SKIP: run where mounting is allowed, for a disk that can lose its power:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, dir
}

func lose(t *testing.T, d *Disk, halfway bool) {
	t.Helper()
	if err := d.Lose(halfway); err != nil {
		t.Fatal(err)
	}
}

// holds compares all files below a folder with their expected contents.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		got[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s holds %.40q, want %.40q", name, got[name], text)
		}
		delete(got, name)
	}
	for name, text := range got {
		t.Errorf("%s is there and holds %.40q, want no such file", name, text)
	}
}

// file opens one, writes and leaves it open until the test ends or close is called.
func file(t *testing.T, path string, flags int, text string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags|os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestMain lets the test binary be the process that maps a file. It cannot be the disk's own
// process: in munmap the kernel holds the process's memory lock until the disk has written the
// mapped pages, and a disk that needs memory meanwhile waits for that lock. That is a deadlock.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "map" {
		if err := writeMapped(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeMapped writes the file's name to its beginning, by memory, and syncs it if it is called so.
func writeMapped(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	page, err := unix.Mmap(int(f.Fd()), 0, 5000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	copy(page, filepath.Base(path))
	if filepath.Base(path) == "msync" {
		err = unix.Msync(page, unix.MS_SYNC)
	}
	return errors.Join(err, unix.Munmap(page), f.Close())
}

// Each system call that syncs data, and some that do not.
func TestEachWayToSync(t *testing.T) {
	d, dir := mounted(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, file(t, at("nothing"), 0, "lost").Close())
	for name, flags := range map[string]int{"o-sync": unix.O_SYNC, "o-dsync": unix.O_DSYNC} {
		must(t, file(t, at(name), flags, name).Close())
	}
	f := file(t, at("fsync"), 0, "kept")
	must(t, f.Sync())
	_, err := f.WriteString(" and lost")
	must(t, err, f.Close())
	f = file(t, at("fdatasync"), os.O_APPEND, "kept,")
	must(t, unix.Fdatasync(int(f.Fd())))
	_, err = f.WriteString("and this,")
	must(t, err, unix.Fdatasync(int(f.Fd())), f.Close())
	for _, name := range []string{"msync", "mapped"} {
		f := file(t, at(name), 0, strings.Repeat(".", 5000))
		must(t, f.Sync())
		must(t, f.Close())
		if text, err := exec.CommandContext(t.Context(), os.Args[0], "map",
			at(name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	must(t, os.Truncate(at("o-sync"), 1))
	large := strings.Repeat("0123456789", 300_000) // several writes for the kernel
	f = file(t, at("large"), 0, large)
	must(t, f.Sync(), f.Close())
	lose(t, d, false)
	want := map[string]string{"nothing": "", "o-sync": "o-sync", "o-dsync": "o-dsync",
		"fsync": "kept", "fdatasync": "kept,and this,",
		"msync": "msync" + strings.Repeat(".", 4995), "mapped": strings.Repeat(".", 5000),
		"large": large}
	holds(t, dir, want)
	lose(t, d, true)
	holds(t, dir, want)
}

// Names reach the disk in their order, with any sync.
func TestNames(t *testing.T) {
	d, dir := mounted(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.MkdirAll(at("a/b"), 0o700))
	old := file(t, at("state"), 0, "old")
	must(t, old.Sync(), old.Close())
	next := file(t, at("next"), 0, "new")
	must(t, next.Sync(), next.Close(), os.Rename(at("next"), at("state")))
	lose(t, d, false) // nothing was synced after the rename
	holds(t, dir, map[string]string{"state": "old", "next": "new"})
	if _, err := os.Stat(at("a/b")); err != nil {
		t.Error(err)
	}

	must(t, os.Rename(at("next"), at("state")))
	folder, err := os.Open(dir)
	must(t, err, folder.Sync(), folder.Close())
	empty := file(t, at("a/b/next"), 0, "never synced")
	must(t, empty.Close(), os.Rename(at("a/b/next"), at("a/c")))
	lose(t, d, true)
	holds(t, dir, map[string]string{"state": "new", "a/c": "never "})

	must(t, os.Remove(at("state")), os.RemoveAll(at("a")))
	lose(t, d, false)
	holds(t, dir, map[string]string{"state": "new", "a/c": "never "})
	must(t, os.Remove(at("state")), os.RemoveAll(at("a")))
	lose(t, d, true)
	holds(t, dir, nil)
}

// Operations of servers on a folder besides writing.
func TestOrdinaryFolder(t *testing.T) {
	_, dir := mounted(t)
	one := file(t, filepath.Join(dir, "lock"), 0, "")
	other := file(t, filepath.Join(dir, "lock"), 0, "")
	defer one.Close()
	defer other.Close()
	must(t, unix.Flock(int(one.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err,
		unix.EWOULDBLOCK) {
		t.Errorf("a second lock: got %v, want %v", err, unix.EWOULDBLOCK)
	}
	first, second := file(t, filepath.Join(dir, "log"), os.O_APPEND, "a"),
		file(t, filepath.Join(dir, "log"), os.O_APPEND, "b")
	_, err := first.WriteString("c")
	must(t, err, os.Remove(filepath.Join(dir, "log")))
	if info, err := second.Stat(); err != nil || info.Size() != 3 {
		t.Errorf("a file without a name: %v, %v, want 3 bytes", info.Size(), err)
	}
	must(t, unix.Fallocate(int(first.Fd()), 0, 0, 4096), first.Close(), second.Close())
	if _, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_EXCL,
		0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("O_EXCL of a file that is there: got %v", err)
	}
	huge := filepath.Join(dir, "huge")
	if err := errors.Join(os.WriteFile(huge, nil, 0o600),
		os.Truncate(huge, room+1)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("more than there is room for: got %v, want %v", err, unix.ENOSPC)
	}
	if err := os.Remove(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removing what is not there: got %v", err)
	}
}

// A mount namespace that is made meanwhile, as every `ip netns exec` makes one, holds a copy of the
// disk. It must not block others.
func TestACopyElsewhere(t *testing.T) {
	d, dir := mounted(t)
	if err := exec.Command("unshare", "--mount", "--propagation", "private",
		"true").Run(); err != nil {
		t.Skip("SKIP: run as root for a mount namespace:", err)
	}
	copied := exec.Command("unshare", "--mount", "--propagation", "private", "--kill-child",
		"sh", "-c", `exec 3>>log && echo held && read next && ! echo late >&3`)
	copied.Dir, copied.SysProcAttr = dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	next, err := copied.StdinPipe()
	must(t, err)
	said, err := copied.StdoutPipe()
	must(t, err, copied.Start())
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		t.Fatalf("the copy said %q, %v", line, err)
	}
	lose(t, d, false)
	must(t, os.WriteFile(filepath.Join(dir, "new"), []byte("n"), 0o600))
	_, err = io.WriteString(next, "\n")
	must(t, err)
	if err := copied.Wait(); err != nil { // a write to it must fail now
		t.Error("in the copy:", err)
	}
	holds(t, dir, map[string]string{"new": "n"})
}

// A program that is started meanwhile does not hold the kernel's side of the disk.
func TestKeptToOurselves(t *testing.T) {
	mounted(t)
	open, err := exec.Command("sh", "-c", "ls -l /proc/self/fd").CombinedOutput()
	must(t, err)
	if strings.Contains(string(open), "/dev/fuse") {
		t.Errorf("a child holds /dev/fuse:\n%s", open)
	}
}
