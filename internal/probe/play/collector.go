package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A StdoutKind is what a server's standard output is: writes to the two differ in what is atomic
// and what can be short.
type StdoutKind string

// The kinds of standard output in which a sink is tested.
const (
	StdoutFile StdoutKind = "file"
	StdoutPipe StdoutKind = "pipe"
	StdoutFull StdoutKind = "full" // /dev/full: a disk without room
)

// maxStdout bounds what a transcript lets a server write.
const maxStdout = 256 << 20

// lookEvery is the interval of looks at an output that grows.
const lookEvery = time.Millisecond

var errLate = errors.New("not within the transcript's limit")

// A collector reads a server's standard output while it runs. One goroutine reads; what it has is
// looked at and consumed by the play.
type collector struct {
	theirs  *os.File // for the server
	ours    *os.File
	file    string // of a StdoutFile
	reading sync.WaitGroup
	ended   chan struct{} // closed when the server has: a file has no other end

	mu      sync.Mutex
	wake    sync.Cond // held became false
	held    bool      // nobody reads
	pending []byte
	total   int64
	failed  error
}

// newCollector makes a pipe, or a file in the folder, or opens the full device.
func newCollector(kind StdoutKind, folder string) (c *collector, err error) {
	c = &collector{ended: make(chan struct{})}
	c.wake.L = &c.mu
	switch kind {
	case StdoutPipe:
		if c.ours, c.theirs, err = os.Pipe(); err != nil {
			return nil, err
		}
	case StdoutFull:
		if c.theirs, err = os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
			return nil, err
		}
		return c, nil
	default:
		if c.theirs, err = os.CreateTemp(folder, "stdout-*"); err != nil {
			return nil, err
		}
		c.file = c.theirs.Name()
		if c.ours, err = os.Open(c.file); err != nil {
			c.theirs.Close()
			return nil, err
		}
	}
	c.reading.Go(c.read)
	return c, nil
}

// read ends at the pipe's end, or when the server has ended and the file was read to its own.
func (c *collector) read() {
	buffer := make([]byte, 256<<10)
	last := false
	for {
		c.mu.Lock()
		for c.held {
			c.wake.Wait()
		}
		c.mu.Unlock()
		n, err := c.ours.Read(buffer)
		c.mu.Lock()
		c.pending = append(c.pending, buffer[:n]...)
		if c.total += int64(n); c.total > maxStdout && c.failed == nil {
			c.failed = fmt.Errorf("standard output has more than %d bytes", maxStdout)
			c.pending = nil
		}
		if c.failed != nil {
			c.pending = nil // still read, so that the server does not hang on it
		}
		c.mu.Unlock()
		switch {
		case err == nil:
		case err != io.EOF || c.file == "" || last:
			return
		default:
			select {
			case <-c.ended:
				last = true
			case <-time.After(lookEvery):
			}
		}
	}
}

// await waits until what is pending is enough, and returns it; with errLate whatever there is.
func (c *collector) await(ctx context.Context, deadline time.Time,
	enough func([]byte) bool) ([]byte, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for seen := -1; ; {
		c.mu.Lock()
		pending, err := c.pending, c.failed
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if len(pending) > seen {
			if seen = len(pending); enough(pending) {
				return pending, nil
			}
		}
		if time.Now().After(deadline) {
			return pending, errLate
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *collector) consume(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[n:]
}

// hold stops the reading of the output, but for a read that is under way, or lets it go on.
func (c *collector) hold(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = on
	c.wake.Broadcast()
}

// started lets go of the server's end: then the pipe ends when the server does.
func (c *collector) started() { c.theirs.Close() }

// finish is called when the server has ended. What nobody has looked at is an error: the server
// wrote what no client sent.
func (c *collector) finish() error {
	c.theirs.Close()
	close(c.ended)
	if c.ours == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { c.reading.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second): // somebody else holds the pipe
	}
	c.ours.Close()
	c.reading.Wait()
	if c.file != "" {
		os.Remove(filepath.Clean(c.file))
	}
	return c.left()
}

// left is an error if there is output that nobody has looked at.
func (c *collector) left() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	if len(c.pending) > 0 {
		return fmt.Errorf("standard output has %d bytes that no step expected: %s", len(c.pending),
			short(c.pending))
	}
	return nil
}
