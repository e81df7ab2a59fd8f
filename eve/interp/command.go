package interp

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// A finished program is a record of its status, its output and its errors.
func finished(status int64, output, errs string) *record {
	return &record{fields: []value{status, output, errs}}
}

// A limited buffer refuses what is more than its limit.
type limited struct {
	text bytes.Buffer
	most int64
	over bool // it has refused some
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(l.text.Len()+len(p)) > l.most {
		l.over = true
		return 0, syscall.EFBIG
	}
	return l.text.Write(p)
}

// run is process.run. The interpreter does nothing else meanwhile.
func (c *called) run() value {
	words, settings := stringsIn(c.args[0]), stringsIn(c.args[3])
	name := ""
	if len(words) > 0 {
		name = words[0]
	}
	done, errno := run(words, c.str(1), c.str(2), settings, c.int(4))
	return outcome("run", name, done, errno)
}

func run(words []string, input, directory string, settings []string, most int64) (value,
	syscall.Errno) {
	path, errno := programOf(words, directory, settings)
	if errno != 0 {
		return nil, errno
	}
	out, errs := &limited{most: most}, &limited{most: most}
	cmd := exec.Cmd{Path: path, Args: words, Dir: directory,
		Env:   append(os.Environ(), settings...),
		Stdin: strings.NewReader(input), Stdout: out, Stderr: errs}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.over || errs.over:
		return nil, syscall.EFBIG
	case errors.As(err, &exit):
	case err != nil:
		return nil, errnoOf(err)
	}
	status := int64(cmd.ProcessState.ExitCode())
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		status = 128 + int64(w.Signal())
	}
	return finished(status, out.text.String(), errs.text.String()), 0
}

func stringsIn(v value) []string {
	var all []string
	for _, s := range elemsOf(v) {
		all = append(all, s.(string))
	}
	return all
}

// registerCommands makes the natives of programs that are run.
func registerCommands() {
	asyncs["process.run"] = func(c *called, answer func(value)) {
		v := c.run()
		c.in.after(0, func() { answer(v) })
	}
	part := func(i int) func(*called) value {
		return func(c *called) value { return (*c.self()).(*record).fields[i] }
	}
	register(map[string]func(*called) value{
		"finished.status": part(0), "finished.output": part(1), "finished.errors": part(2),
	})
}
