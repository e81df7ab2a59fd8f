package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process in the sandbox sees no files of its user (landlock(7)): where slirp4netns has a mount
// namespace with a few folders in it, the kernel is told here which files may be opened. It lets
// through what was opened before, such as the tap and standard output.

// What may be done with files.
const (
	mayRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayRun     = mayRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	mayListen  = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	ofFiles    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	allAccess1 = unix.LANDLOCK_ACCESS_FS_REFER - 1 // all that the first version of the ABI has
)

// landlockScoped is the version of the ABI that has Scoped, and rulesetLen the length in bytes of
// what is told to the kernel, up to there.
const (
	landlockScoped = 6
	rulesetLen     = 24
)

// fileRule allows something with a file, or with what is in a folder.
type fileRule struct {
	path   string
	access uint64
}

// sandboxFiles are what a process needs for its start and for its work: programs and their
// libraries, the configuration of the machine, what Go's runtime reads of the kernel, and the
// folder of the API socket. setpriv and self are the programs that are started.
func (w *slirpFlags) sandboxFiles(setpriv, self string) (all []fileRule) {
	for _, path := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", setpriv,
		self} {
		all = append(all, fileRule{path, mayRun})
	}
	for _, path := range []string{"/etc", "/proc/self", "/proc/sys", "/sys/fs/cgroup",
		"/sys/kernel/mm"} {
		all = append(all, fileRule{path, mayRead})
	}
	for _, path := range []string{w.resolvConf, w.hosts} {
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // there is none
		}
		if strings.HasPrefix(target, "/run/") { // its owner puts another one in its place
			target = filepath.Dir(target)
		}
		all = append(all, fileRule{target, mayRead})
	}
	if w.api != "" {
		all = append(all, fileRule{filepath.Dir(w.api), mayListen})
	}
	return all
}

// accessOf returns all that a version of the ABI can forbid.
func accessOf(version int) uint64 {
	all := uint64(allAccess1)
	for _, x := range []struct {
		since  int
		access uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		if version >= x.since {
			all |= x.access
		}
	}
	return all
}

// confine keeps this thread, and the program that it becomes, from all files but those of the
// rules, and from abstract Unix sockets and processes outside, as far as the kernel can. A file
// that is not there is left out. The thread can gain no privileges any more.
func confine(rules []fileRule) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("the kernel has no landlock: %w", errno)
	}
	ruleset := unix.LandlockRulesetAttr{Handled_access_fs: accessOf(int(version))}
	if version >= landlockScoped {
		ruleset.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&ruleset)), rulesetLen, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(fd))
	for _, r := range rules {
		if err := r.add(fd); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// add adds a rule to a ruleset.
func (r fileRule) add(ruleset uintptr) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: r.access, Parent_fd: int32(fd)}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access &= ofFiles
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset,
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}
