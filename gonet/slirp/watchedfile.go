package slirp

import (
	"io"
	"os"
	"sync"
	"time"
)

// watchedFile is a file of the host that is read again when it has changed.
type watchedFile struct {
	path string

	mu      sync.Mutex
	checked time.Time // when the file was last looked at; zero: never
	read    bool      // it was parsed, at least as one that is not there
	info    os.FileInfo
}

const (
	// checkInterval is the least time between two looks at a file. A guess.
	checkInterval = time.Second
	// maxFileLen bounds what is read of a file, in bytes. A guess: lists of hosts that are to be
	// blocked have some megabytes.
	maxFileLen = 16 << 20
)

// refresh has parse read the text, if the file is another one or was changed since the last look;
// nil if it cannot be read. The caller holds mu.
func (f *watchedFile) refresh(parse func(text []byte)) {
	now := time.Now()
	if f.read && now.Sub(f.checked) < checkInterval {
		return
	}
	f.checked = now
	info, err := os.Stat(f.path)
	if err == nil && f.info != nil && os.SameFile(info, f.info) &&
		info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return
	}
	text, err := readStart(f.path)
	if err != nil {
		info, text = nil, nil
	}
	f.info, f.read = info, true
	parse(text)
}

// readStart reads a file, the first maxFileLen bytes at most.
func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileLen))
}
