package torture

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"time"

	"interleave/papaya/checker"
)

// A recorder writes the history of a campaign. Any goroutine may use it: the order of its lines is
// that in which it was called.
type recorder struct {
	mu         sync.Mutex
	file       *os.File
	w          *bufio.Writer
	began      time.Time
	operations int64
	err        error       // the first of the file
	failed     func(error) // is called with it
	// acknowledged has room for one: an operation was done since it was emptied.
	acknowledged chan struct{}
	awaited      checker.Do // the next Invoke of it closes begins
	begins       chan struct{}
}

// newRecorder makes the file, which must not exist. failed is called if it cannot be written.
func newRecorder(path string, failed func(error)) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the history: %w", err)
	}
	return &recorder{file: f, w: bufio.NewWriterSize(f, 1<<16), began: time.Now(),
		failed: failed, acknowledged: make(chan struct{}, 1)}, nil
}

// tell records an event.
func (r *recorder) tell(e checker.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(&e)
	if e.Type == checker.OK {
		select {
		case r.acknowledged <- struct{}{}:
		default: // that was told already
		}
	}
}

// invoke records the beginning of an operation, and returns its number.
func (r *recorder) invoke(e checker.Event) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations++
	e.Type, e.Op = checker.Invoke, r.operations
	r.write(&e)
	if r.begins != nil && e.Do == r.awaited {
		close(r.begins)
		r.begins = nil
	}
	return e.Op
}

// begin returns a channel that is closed with the next Invoke of an operation. Only the last call
// counts.
func (r *recorder) begin(do checker.Do) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited, r.begins = do, make(chan struct{})
	return r.begins
}

// write writes an event. The caller holds mu.
func (r *recorder) write(e *checker.Event) {
	e.At = time.Since(r.began).Milliseconds()
	r.note(checker.Write(r.w, e))
}

// flush brings all events to the file.
func (r *recorder) flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(r.w.Flush())
	return r.err
}

func (r *recorder) note(err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("writing the history: %w", err)
		r.failed(r.err)
	}
}

// close writes what is left and closes the file.
func (r *recorder) close() error {
	err := r.flush()
	if closed := r.file.Close(); err == nil && closed != nil {
		err = fmt.Errorf("writing the history: %w", closed)
	}
	return err
}
