package keep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"interleave/papaya/log"
)

// A File is the text in a data folder, for reading. A server may write at the same time.
type File struct {
	file  *os.File
	begin uint64
	end   uint64
}

// tries bounds how often a file is opened again that a running server has just replaced.
const tries = 10

// OpenFile opens the text as it is now.
func OpenFile(folder string) (*File, error) {
	for range tries {
		begin, err := log.ReadBegin(folder)
		if err != nil {
			return nil, err
		}
		file, err := os.Open(filepath.Join(folder, "log"))
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err == nil {
			var again uint64
			if again, err = log.ReadBegin(folder); err == nil && again == begin {
				return &File{file, begin, begin + uint64(info.Size())}, nil
			}
		}
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: the log is replaced over and over", folder)
}

// ReadAt implements Text.
func (f *File) ReadAt(p []byte, at uint64) (int, error) {
	if at < f.begin {
		return 0, fmt.Errorf("the log begins at %d, not at %d", f.begin, at)
	}
	n, err := f.file.ReadAt(p, int64(at-f.begin))
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Begin implements Text.
func (f *File) Begin() uint64 { return f.begin }

// End implements Text. Lines that are written after OpenFile come after it.
func (f *File) End() uint64 { return f.end }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
