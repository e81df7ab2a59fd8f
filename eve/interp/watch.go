package interp

import (
	"bytes"
	"encoding/binary"
	"syscall"
)

// Type notices of module fs: the kernel's queue of what happens in folders. A task that waits for
// notices gets them when no other task is ready.
type (
	notices struct {
		fd      int
		path    string
		code    syscall.Errno  // why there is no queue
		waiting *noticesWaiter // one at a time
	}
	noticesWaiter struct {
		of     *notices
		call   *called
		answer func(value)
	}
)

func watchError(path string, code syscall.Errno) *fault {
	text := ""
	switch code {
	case syscall.ENOSPC:
		text = "no watch is left (fs.inotify.max_user_watches)"
	case syscall.EMFILE:
		text = "no queue is left (fs.inotify.max_user_instances)"
	default:
		return systemError("watch", path, code)
	}
	return &fault{code: int64(code), text: "watch " + path + ": " + text,
		cause: &fault{code: int64(code), text: text}}
}

func (c *called) notices() *notices { return (*c.self()).(*notices) }

// registerWatches makes the natives of type notices.
func registerWatches() {
	natives["notices.begin"] = func(c *called) value {
		c.in.refuse("a watch of files")
		n := &notices{path: c.str(0), code: syscall.EBADF}
		fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
		if n.fd = fd; err != nil {
			n.fd, n.code = -1, errnoOf(err)
		}
		c.in.queues = append(c.in.queues, n)
		return c.in.object(n, c.t.Elem)
	}
	asyncs["notices.add"] = func(c *called, answer func(value)) {
		n, path, watch := c.notices(), c.str(1), 0
		errno := n.code
		if n.fd >= 0 {
			errno = retried(func() (err error) {
				watch, err = syscall.InotifyAddWatch(n.fd, path, uint32(c.int(2)))
				return err
			})
		}
		v := value(ok(int64(watch)))
		if errno != 0 {
			v = failed(watchError(path, errno))
		}
		c.in.after(0, func() { answer(v) })
	}
	natives["notices.remove"] = func(c *called) value {
		if n := c.notices(); n.fd >= 0 {
			_, _ = syscall.InotifyRmWatch(n.fd, uint32(c.int(1))) // it may be gone already
		}
		return nil
	}
	asyncs["notices.next"] = func(c *called, answer func(value)) {
		n := c.notices()
		errno := syscall.Errno(0)
		switch {
		case n.fd < 0:
			errno = n.code
		case n.waits():
			errno = syscall.EBUSY
		case c.in.ending:
			errno = syscall.ESHUTDOWN
		}
		if errno != 0 {
			c.in.after(0, func() { answer(failed(watchError(n.path, errno))) })
			return
		}
		n.waiting = &noticesWaiter{n, c, answer}
	}
	natives["notices.stop"] = func(c *called) value {
		c.notices().end(c.in, syscall.ECANCELED)
		return nil
	}
	natives["notices.close"] = func(c *called) value {
		c.notices().close(c.in)
		return nil
	}
}

// waits says whether a task waits, whose time is not over.
func (n *notices) waits() bool { return n.waiting != nil && !n.waiting.call.waiting.answered }

// end answers the task that waits by an error.
func (n *notices) end(in *interp, why syscall.Errno) {
	w := n.waiting
	n.waiting = nil
	if w != nil {
		in.soon(func() { w.answer(failed(watchError(n.path, why))) })
	}
}

func (n *notices) close(in *interp) {
	n.end(in, syscall.EBADF)
	if n.fd >= 0 {
		_ = syscall.Close(n.fd) // nobody reads from it any more
	}
	n.fd, n.code = -1, syscall.EBADF
}

// lookAtQueues answers tasks that wait for notices which have come. It is called when no task is
// ready. True when it has found one.
func (in *interp) lookAtQueues() bool {
	any := false
	for _, n := range in.queues {
		if !n.waits() {
			continue
		}
		if all := n.read(); len(all.elems) > 0 {
			w := n.waiting
			n.waiting = nil
			w.answer(ok(all))
			any = true
		}
	}
	return any
}

// read takes all notices that are there: the watch, the mask, the cookie and the name of each.
func (n *notices) read() *list {
	all, block := &list{}, make([]byte, 65536)
	for {
		size, err := syscall.Read(n.fd, block)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || size <= 0 {
			return all
		}
		for b := block[:size]; len(b) >= syscall.SizeofInotifyEvent; {
			length := int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[16:16+length], []byte{0})
			all.elems = append(all.elems, &record{fields: []value{
				int64(int32(binary.NativeEndian.Uint32(b))),
				int64(binary.NativeEndian.Uint32(b[4:])),
				int64(binary.NativeEndian.Uint32(b[8:])), string(name)}})
			b = b[16+length:]
		}
	}
}
