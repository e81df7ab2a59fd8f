package interp

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A runningChild is the value of a child of process.start, which really runs. An operation that has
// to wait is tried again each millisecond, of the program's time and of the world's.
type runningChild struct {
	name   string
	pid    int
	pipes  [3]int           // our ends; below 0: closed, or never there
	lines  [3][]func() bool // operations on them: each says whether it is done
	ended  bool
	status int64
}

const againAfter = time.Millisecond

// again tries an operation of a child again. In fake time the program's clock stands still then.
func (in *interp) again(try func()) {
	time.Sleep(againAfter)
	d := againAfter
	if in.faked {
		d = 0
	}
	in.after(int64(d), try)
}

// startChild is process.start.
func (c *called) startChild(answer func(value)) {
	words := stringsIn(c.args[0])
	name := ""
	if len(words) > 0 {
		name = words[0]
	}
	child, errno := startProgram(words, c.str(1), stringsIn(c.args[2]), c.args[3].(bool),
		c.in.options.Stderr)
	v := value(nil)
	if errno == 0 {
		c.in.children = append(c.in.children, child)
		v = c.in.object(child, c.t.Elem.Elem)
	}
	c.in.after(0, func() { answer(outcome("start", name, v, errno)) })
}

func startProgram(words []string, directory string, settings []string, errs bool,
	stderr any) (*runningChild, syscall.Errno) {
	path, errno := programOf(words, directory, settings)
	if errno != 0 {
		return nil, errno
	}
	child := &runningChild{name: words[0], pipes: [3]int{-1, -1, -1}}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // they are the child's
		}
	}()
	for i := range 3 {
		if i == 2 && !errs {
			break
		}
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
			child.closePipes()
			return nil, errnoOf(err)
		}
		ours, other := ends[0], ends[1]
		if i == 0 {
			ours, other = other, ours
		}
		child.pipes[i] = ours
		theirs = append(theirs, os.NewFile(uintptr(other), "pipe"))
		if err := syscall.SetNonblock(ours, true); err != nil {
			child.closePipes()
			return nil, errnoOf(err)
		}
	}
	files := theirs
	if f, is := stderr.(*os.File); is && !errs {
		files = append(files[:2:2], f)
	} else if !errs {
		files = append(files[:2:2], os.Stderr)
	}
	p, err := os.StartProcess(path, words, &os.ProcAttr{Dir: directory,
		Env: (&exec.Cmd{Env: append(os.Environ(), settings...)}).Environ(), Files: files})
	if err != nil {
		child.closePipes()
		return nil, errnoOf(err)
	}
	child.pid = p.Pid
	_ = p.Release() // it is waited for by its number
	return child, 0
}

// programOf is the path of the program to run.
func programOf(words []string, directory string, settings []string) (string, syscall.Errno) {
	all := append(append([]string{directory}, words...), settings...)
	if len(words) == 0 || words[0] == "" || strings.Contains(strings.Join(all, ""), "\x00") {
		return "", syscall.EINVAL
	}
	for _, s := range settings {
		if strings.IndexByte(s, '=') < 1 {
			return "", syscall.EINVAL
		}
	}
	if strings.Contains(words[0], "/") {
		return words[0], 0
	}
	found, err := exec.LookPath(words[0])
	if err != nil {
		return "", syscall.ENOENT
	}
	return found, 0
}

func (r *runningChild) closePipes() {
	for i := range r.pipes {
		r.closePipe(i)
	}
}

func (r *runningChild) closePipe(i int) {
	if r.pipes[i] >= 0 {
		_ = syscall.Close(r.pipes[i]) // a pipe has no errors to tell
		r.pipes[i] = -1
	}
}

// reap says whether it has ended.
func (r *runningChild) reap() bool {
	if r.ended {
		return true
	}
	var how syscall.WaitStatus
	pid := 0
	errno := retried(func() (err error) {
		pid, err = syscall.Wait4(r.pid, &how, syscall.WNOHANG, nil)
		return err
	})
	if errno == 0 && pid == 0 {
		return false
	}
	r.ended = true
	r.status = int64(how.ExitStatus())
	if how.Signaled() {
		r.status = 128 + int64(how.Signal())
	}
	return true
}

// stop is the end of the interpreter.
func (r *runningChild) stop() {
	r.closePipes()
	if !r.reap() {
		_ = syscall.Kill(r.pid, syscall.SIGKILL) // it is there until it is waited for
		_ = retried(func() error {
			_, err := syscall.Wait4(r.pid, nil, 0, nil)
			return err
		})
	}
}

func (in *interp) stopChildren() {
	for _, r := range in.children {
		r.stop()
	}
}

func (c *called) child() *runningChild { return (*c.self()).(*runningChild) }

// inTurn makes an operation when those before it on its pipe have ended.
func (c *called) inTurn(pipe int, try func() bool) {
	r := c.child()
	r.lines[pipe] = append(r.lines[pipe], func() bool { return c.waiting.answered || try() })
	if len(r.lines[pipe]) == 1 {
		c.in.after(0, func() { r.goOn(c.in, pipe) })
	}
}

func (r *runningChild) goOn(in *interp, pipe int) {
	for len(r.lines[pipe]) > 0 {
		if !r.lines[pipe][0]() {
			in.again(func() { r.goOn(in, pipe) })
			return
		}
		r.lines[pipe] = r.lines[pipe][1:]
	}
}

// pipeCall makes one call on a pipe. False: it has to wait.
func pipeCall(f func() error) (errno syscall.Errno, done bool) {
	errno = retried(f)
	return errno, errno != syscall.EAGAIN
}

func (c *called) writeChild(answer func(value)) {
	r, data := c.child(), raw(c.args[1])
	c.inTurn(0, func() bool {
		for {
			if r.pipes[0] < 0 {
				answer(outcome("write to", r.name, nil, syscall.EBADF))
				return true
			}
			if len(data) == 0 {
				answer(ok(nil))
				return true
			}
			n := 0
			errno, done := pipeCall(func() (err error) {
				n, err = syscall.Write(r.pipes[0], data)
				return err
			})
			if !done {
				return false
			}
			if errno != 0 {
				answer(outcome("write to", r.name, nil, errno))
				return true
			}
			data = data[n:]
		}
	})
}

func (c *called) readChild(pipe int, what string, answer func(value)) {
	r, most := c.child(), min(c.int(1), 1<<16)
	c.inTurn(pipe, func() bool {
		if r.pipes[pipe] < 0 || most < 1 {
			errno := syscall.EINVAL
			if r.pipes[pipe] < 0 {
				errno = syscall.EBADF
			}
			answer(outcome(what, r.name, nil, errno))
			return true
		}
		n, block := 0, make([]byte, most)
		errno, done := pipeCall(func() (err error) {
			n, err = syscall.Read(r.pipes[pipe], block)
			return err
		})
		if done {
			answer(outcome(what, r.name, bytesOf(string(block[:max(n, 0)])), errno))
		}
		return done
	})
}

func (c *called) waitChild(answer func(value)) {
	r := c.child()
	var try func()
	try = func() {
		switch {
		case c.waiting.answered:
		case r.reap():
			answer(ok(r.status))
		default:
			c.in.again(try)
		}
	}
	c.in.after(0, try)
}

func (c *called) signalChild() value {
	r, number := c.child(), c.int(1)
	errno := syscall.ESRCH
	switch {
	case number < 0 || number > 64:
		errno = syscall.EINVAL
	case !r.reap():
		errno = errnoOf(syscall.Kill(r.pid, syscall.Signal(number)))
	}
	return outcome("signal", r.name, nil, errno)
}

// registerChildren makes the natives of programs that are started.
func registerChildren() {
	natives["child.pid"] = func(c *called) value { return int64(c.child().pid) }
	natives["child.signal"] = (*called).signalChild
	asyncs["process.start"] = (*called).startChild
	asyncs["child.write"] = (*called).writeChild
	asyncs["child.read"] = func(c *called, answer func(value)) {
		c.readChild(1, "read from", answer)
	}
	asyncs["child.read_errors"] = func(c *called, answer func(value)) {
		what := "read from"
		if c.child().pipes[2] < 0 {
			what = "read errors of"
		}
		c.readChild(2, what, answer)
	}
	asyncs["child.close_input"] = func(c *called, answer func(value)) {
		r := c.child()
		c.inTurn(0, func() bool {
			r.closePipe(0)
			answer(ok(nil))
			return true
		})
	}
	asyncs["child.wait"] = (*called).waitChild
}
