package interp

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// registerMore makes the natives of module fs about links, times, and files of one folder.
func registerMore(onPath func(name, what string, do func(c *called) (value, syscall.Errno))) {
	onPath("link_info", "info of", func(c *called) (value, syscall.Errno) {
		var about syscall.Stat_t
		errno := retried(func() error { return syscall.Lstat(c.str(0), &about) })
		return infoOf(&about), errno
	})
	onPath("set_times", "set times of", func(c *called) (value, syscall.Errno) {
		return nil, retried(func() error {
			return syscall.UtimesNano(c.str(0), []syscall.Timespec{timeOf(c.args[2]),
				timeOf(c.args[1])})
		})
	})
	onPath("open_beneath", "open", func(c *called) (value, syscall.Errno) {
		fd, errno := openBeneath(c.str(0), c.str(1))
		if errno != 0 {
			return nil, errno
		}
		f := &diskFile{fd: fd, path: c.str(0) + "/" + c.str(1)}
		c.in.files = append(c.in.files, f)
		return c.in.object(f, c.t.Elem.Elem), 0
	})
}

// timeOf is the time of an instant?; none says that a time stays (utimensat(2)).
func timeOf(v value) syscall.Timespec {
	const stays = 1<<30 - 2
	at := v.(*record)
	if len(at.fields) == 0 {
		return syscall.Timespec{Nsec: stays}
	}
	n := at.fields[0].(int64)
	seconds := n / billion
	if n%billion < 0 {
		seconds--
	}
	return syscall.Timespec{Sec: seconds, Nsec: n - seconds*billion}
}

// An openHow is the argument of openat2(2).
type openHow struct{ flags, mode, resolve uint64 }

const (
	openat2        = 437 // on every machine
	resolveNoMagic = 0x02
	resolveBeneath = 0x08
)

// openBeneath opens a file of a folder, whatever links are on the way.
func openBeneath(folder, name string) (int, syscall.Errno) {
	if strings.HasPrefix(name, "/") || leadsUp(name) || strings.Contains(folder+name, "\x00") {
		return -1, syscall.EINVAL
	}
	const path = 0x200000 // O_PATH
	root, err := syscall.Open(folder, path|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, errnoOf(err)
	}
	defer func() { _ = syscall.Close(root) }() // nothing was written
	if name == "" {
		name = "."
	}
	text, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, errnoOf(err)
	}
	how := openHow{syscall.O_RDONLY | syscall.O_CLOEXEC | syscall.O_NOCTTY | syscall.O_NONBLOCK, 0,
		resolveNoMagic | resolveBeneath}
	for attempts := 0; ; attempts++ {
		fd, _, errno := syscall.Syscall6(openat2, uintptr(root), uintptr(unsafe.Pointer(text)),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		// EAGAIN: something was renamed meanwhile, and so the way cannot be checked.
		if errno == syscall.EINTR || errno == syscall.EAGAIN && attempts < 100 {
			continue
		}
		if errno != 0 {
			return -1, errno
		}
		return onlyFile(int(fd))
	}
}

func leadsUp(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// A temporary file or folder is removed when the program ends.
type temporary struct {
	path string
	kept bool
}

// registerTemporary makes the natives of type temporary.
func registerTemporary() {
	self := func(c *called) *temporary { return (*c.self()).(*temporary) }
	natives["temporary.path"] = func(c *called) value { return self(c).path }
	natives["temporary.keep"] = func(c *called) value {
		self(c).kept = true
		return nil
	}
	makes := func(name string, create func(path string) error) {
		asyncs["fs."+name] = func(c *called, answer func(value)) {
			suffix := ""
			if len(c.args) > 1 {
				suffix = c.str(1)
			}
			within := c.str(0)
			if within == "" {
				within = os.TempDir()
			}
			path, errno := newName(within, suffix, create)
			v := failed(systemError("make a temporary file in", within, errno))
			if errno == 0 {
				t := &temporary{path: path}
				c.in.temporary = append(c.in.temporary, t)
				v = ok(c.in.object(t, c.t.Elem.Elem))
			}
			c.in.after(0, func() { answer(v) })
		}
	}
	makes("temporary_file", func(path string) error {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL|
			syscall.O_CLOEXEC, 0o600)
		if err == nil {
			err = syscall.Close(fd)
		}
		return err
	})
	makes("temporary_folder", func(path string) error { return syscall.Mkdir(path, 0o700) })
}

// newName makes something that has a name which nobody had.
func newName(within, suffix string, create func(path string) error) (string, syscall.Errno) {
	if strings.Contains(suffix, "/") || strings.Contains(within+suffix, "\x00") {
		return "", syscall.EINVAL
	}
	for range 100 {
		name := "eve-" + strconv.FormatUint(rand.Uint64(), 16) + suffix
		path := within + "/" + name
		errno := retried(func() error { return create(path) })
		if errno != syscall.EEXIST {
			return path, errno
		}
	}
	return "", syscall.EEXIST
}
