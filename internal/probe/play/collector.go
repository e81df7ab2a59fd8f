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

	"interleave/internal/probe/transcript"
)

// maxStdout bounds how many bytes a server may write while it plays a transcript.
const maxStdout = 256 << 20

// lookEvery is how often a collector looks at an output that grows.
const lookEvery = time.Millisecond

var errLate = errors.New("not within the transcript's limit")

// A collector reads a server's standard output while the server runs. One goroutine, read, reads;
// the play looks at what has come and consumes it.
type collector struct {
	theirs  *os.File // the server's end
	ours    *os.File // our end; nil: there is nothing to read
	file    string   // the path, if standard output is a file
	reading sync.WaitGroup
	ended   chan struct{} // closed when the server has ended: a file has no other end

	mu      sync.Mutex
	wake    sync.Cond // signals that held became false
	held    bool      // read pauses
	pending []byte    // was read and not consumed
	total   int64     // bytes read
	failed  error
}

// newCollector makes a pipe or a file in the folder, or opens /dev/full.
func newCollector(kind transcript.StdoutKind, folder string) (c *collector, err error) {
	c = &collector{ended: make(chan struct{})}
	c.wake.L = &c.mu
	switch kind {
	case transcript.StdoutPipe:
		if c.ours, c.theirs, err = os.Pipe(); err != nil {
			return nil, err
		}
	case transcript.StdoutFull:
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

// read ends at the end of the pipe. It ends at the end of a file if the server has ended before.
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
			c.pending = nil // what comes is still read, so that the server does not block
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

// await waits until the pending bytes are enough, and returns them. At the deadline it returns what
// is pending, and errLate.
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

// consume removes the first n pending bytes.
func (c *collector) consume(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[n:]
}

// hold stops the reading of the output, except for a read that is under way, or resumes it.
func (c *collector) hold(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = on
	c.wake.Broadcast()
}

// started closes the server's end here, so that the pipe ends when the server does.
func (c *collector) started() { c.theirs.Close() }

// finish is called when the server has ended. It returns an error if bytes are left that no step
// has consumed: the server wrote what no client sent.
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
	case <-time.After(time.Second): // another process holds the pipe
	}
	c.ours.Close()
	c.reading.Wait()
	if c.file != "" {
		os.Remove(filepath.Clean(c.file))
	}
	return c.left()
}

// left returns an error if there is output that no step has consumed.
func (c *collector) left() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	if len(c.pending) > 0 {
		return fmt.Errorf("standard output has %d bytes that no step expected: %s", len(c.pending),
			transcript.Short(c.pending))
	}
	return nil
}
