package arch

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fresh is a machine on which toolchains.sh runs: a folder with all that it looks at, a table of
// three tools, and an apt-get that installs programs which only print a version.
type fresh struct {
	t   *testing.T
	dir string
}

// patience is a net for what takes no time to speak of.
const patience = time.Minute

// tables are the tools that toolchains.sh brings to a fresh machine.
const tables = `
want tmux 'a terminal' 'apt tmux' least 3 tmux -V
want mandoc 'manual pages' 'apt mandoc-1 mandoc' present mandoc
want mold 'fast links' 'apt mold' least 1 mold --version
settle
`

// aptGet obeys files in its folder: each is a word that the registry lacks, or what goes wrong.
const aptGet = `#!/bin/sh
cd "${0%/*}/.." && echo "$*" >>calls || exit
case " $* " in
*" update ")
	[ ! -e offline ] || { echo "Err:1 no route"; exit 100; }
	[ ! -e locked ] || { rm locked; echo "E: Could not get lock"; exit 100; }
	echo "Hit:1 a list" ;;
*" -d install "*)
	[ ! -e hangs ] || { echo >hanging; exec sleep 1000; }
	[ ! -e lacks ] || case " $* " in *" $(cat lacks) "*) echo "E: 404" && exit 100 ;; esac
	for word; do echo >"archives/$word"; done ;;
*" --no-download install "*)
	while [ "$1" != install ]; do shift; done && shift
	for package; do [ -e "archives/$package" ] || exit 100; done
	for package; do
		printf '#!/bin/sh\necho 9.9\n' >"bin/$package" && chmod +x "bin/$package"
	done ;;
esac
`

// newFresh makes a machine. Its commands are those of the system that the script needs.
func newFresh(t *testing.T) *fresh {
	t.Helper()
	f := &fresh{t, t.TempDir()}
	text, err := os.ReadFile(filepath.Join(root, "toolchains.sh"))
	if err != nil {
		t.Fatal(err)
	}
	script, _, found := strings.Cut(string(text), "\nwant ")
	if !found {
		t.Fatal("toolchains.sh has no table")
	}
	script = strings.NewReplacer("/usr/sbin", f.dir+"/sbin", "/etc/", f.dir+"/etc/", "/var/", f.dir+
		"/var/").Replace(script)
	for _, folder := range []string{"archives", "bin", "sbin", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(f.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.write("toolchains.sh", script+tables)
	f.write("bin/apt-get", aptGet)
	f.write("bin/id", "#!/bin/sh\necho 0\n")
	for _, name := range strings.Fields(`bash cat chmod dirname flock grep head ls mkdir rm sh sleep
		sort tee timeout`) {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(f.dir, "bin", name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *fresh) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fresh) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(text)
}

func (f *fresh) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fresh) command() *exec.Cmd {
	c := exec.Command(filepath.Join(f.dir, "bin/bash"), "toolchains.sh")
	c.Dir = f.dir
	c.Env = []string{"PATH=" + f.dir + "/bin", "HOME=" + f.dir}
	return c
}

// says runs the script, which must succeed, print these lines, and leave no policy about daemons.
func (f *fresh) says(want ...string) {
	f.t.Helper()
	out, err := f.command().Output()
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || !slices.Equal(got, want) {
		f.t.Errorf("got %v and\n%s\nwant\n%s\nthe log:\n%s", err, strings.Join(got, "\n"),
			strings.Join(want, "\n"), f.read("out/tools/log"))
	}
	if policy := f.read("sbin/policy-rc.d"); policy != "" {
		f.t.Errorf("left: %s", policy)
	}
}

// skipped are the lines of a machine that gets none of the tools.
func skipped(why string) []string {
	return []string{
		"SKIP tmux: install tmux to get a terminal (" + why + "out/tools/log says why)",
		"SKIP mandoc: install mandoc-1 mandoc to get manual pages (" + why +
			"out/tools/log says why)",
		"SKIP mold: install mold to get fast links (" + why + "out/tools/log says why)"}
}

// TestToolsAreInstalled installs everything in one call of apt-get, and nothing the second time.
func TestToolsAreInstalled(t *testing.T) {
	t.Parallel()
	f := newFresh(t)
	f.write("locked", "") // by what the system does at its first start
	mandoc := "mandoc (" + f.dir + "/bin/mandoc)"
	f.says("installed tmux (9.9)", "installed "+mandoc, "installed mold (9.9)")
	if calls := f.read("calls"); strings.Count(calls, "\n") != 4 ||
		!strings.Contains(calls, " --no-download install tmux mandoc-1 mandoc mold\n") {
		t.Errorf("calls of apt-get:\n%s", calls)
	}
	f.remove("calls")
	f.says("ok tmux (9.9)", "ok "+mandoc, "ok mold (9.9)")
	if calls := f.read("calls"); calls != "" {
		t.Errorf("calls of apt-get when all is there:\n%s", calls)
	}
}

// TestRegistryLacksOne leaves out what cannot be had, and brings it when it can.
func TestRegistryLacksOne(t *testing.T) {
	t.Parallel()
	f := newFresh(t)
	f.write("lacks", "mandoc-1")
	f.says("installed tmux (9.9)", skipped("")[1], "installed mold (9.9)")
	if log := f.read("out/tools/log"); !strings.Contains(log, "E: 404") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	f.remove("lacks")
	f.says("ok tmux (9.9)", "installed mandoc ("+f.dir+"/bin/mandoc)", "ok mold (9.9)")
}

// TestDownloadsTakeTooLong installs what has come, and says that the rest comes later.
func TestDownloadsTakeTooLong(t *testing.T) {
	t.Parallel()
	f := newFresh(t)
	script := f.read("toolchains.sh")
	f.write("toolchains.sh", strings.Replace(script, "\npatience=300 ", "\npatience=0 ", 1))
	f.write("archives/mold", "")
	why := "downloads took 0 s, and go on when it is called again; "
	f.says(skipped(why)[0], skipped(why)[1], "installed mold (9.9)")
	f.write("toolchains.sh", script)
	f.says("installed tmux (9.9)", "installed mandoc ("+f.dir+"/bin/mandoc)", "ok mold (9.9)")
}

// TestNothingCanBeInstalled says why, and does not fail.
func TestNothingCanBeInstalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(f *fresh)
		why   string
	}{
		{"no apt-get", func(f *fresh) { f.remove("bin/apt-get") }, "no apt-get here; "},
		{"a user", func(f *fresh) { f.write("bin/id", "#!/bin/sh\necho 1000\n") },
			"needs root, or sudo that does not ask, as after sudo -v; "},
		{"offline", func(f *fresh) { f.write("offline", "") }, "no list of packages came; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFresh(t)
			c.spoil(f)
			f.says(skipped(c.why)...)
		})
	}
}

// TestToolsAreInterrupted presses Ctrl-C during a download. Nothing is left, also if the run before
// was killed and could not remove its policy.
func TestToolsAreInterrupted(t *testing.T) {
	t.Parallel()
	f := newFresh(t)
	f.write("hangs", "")
	c := f.command()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	defer time.AfterFunc(patience, kill).Stop()
	for end := time.Now().Add(patience); f.read("hanging") == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			kill()
			t.Fatalf("it does not begin to download:\n%s", f.read("out/tools/log"))
		}
	}
	policy := f.read("sbin/policy-rc.d")
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v, want status 130", err)
	}
	for end := time.Now().Add(patience); syscall.Kill(-c.Process.Pid, 0) == nil; {
		if time.Now().After(end) {
			kill()
			t.Error("processes are left")
		}
		time.Sleep(time.Millisecond)
	}
	if !strings.Contains(policy, "exit 101") || f.read("sbin/policy-rc.d") != "" {
		t.Errorf("the policy was %q, and is %q", policy, f.read("sbin/policy-rc.d"))
	}

	f.remove("hangs")
	f.write("sbin/policy-rc.d", policy)
	mandoc := "mandoc (" + f.dir + "/bin/mandoc)"
	f.says("installed tmux (9.9)", "installed "+mandoc, "installed mold (9.9)")
	f.write("sbin/policy-rc.d", policy)
	f.says("ok tmux (9.9)", "ok "+mandoc, "ok mold (9.9)")
}

// TestGoIsMissing checks that make says so before it installs anything.
func TestGoIsMissing(t *testing.T) {
	t.Parallel()
	c := exec.Command("make", "ready", "GO=no-such-go")
	c.Dir = root
	said, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "go is missing: install Go 1.26 or newer\n") ||
		strings.Contains(string(said), "toolchains.sh") {
		t.Errorf("got %v and\n%s", err, said)
	}
}

// TestLibrariesOfEveAreInstalled holds that toolchains.sh has each library that a part of Eve's
// runtime needs: without its header, the tests of that part fail or are skipped.
func TestLibrariesOfEveAreInstalled(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(root, "toolchains.sh"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "eve/libraries.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for library := range strings.SplitSeq(string(text), "{Name: ") {
		_, after, _ := strings.Cut(library, "Package: \"")
		name, _, ok := strings.Cut(after, "\"")
		if !ok || !strings.Contains(library, "Runtime: ") {
			continue
		}
		found++
		if !strings.Contains(string(table), "'apt "+name+"'") {
			t.Errorf("toolchains.sh does not install %s, which eve/libraries.go names", name)
		}
	}
	if found < 10 {
		t.Errorf("%d libraries were found in eve/libraries.go, want 10 or more", found)
	}
}
