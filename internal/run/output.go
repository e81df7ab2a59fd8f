package run

import (
	"errors"
	"os"
	"path/filepath"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// An output is where a sink writes: as the chat paper did, into what the kernel throws away; or
// into a file on the disk that has the folders of servers, as a chat's log does.
type output struct {
	file   *os.File
	folder *serve.Folder // nil: nothing is kept
}

func openOutput(b *toolchain.Built, l manifest.Load) (o output, err error) {
	path := os.DevNull
	if l.Output == manifest.OutputFile {
		if o.folder, err = serve.NewFolder(b.Out); err != nil {
			return output{}, err
		}
		path = filepath.Join(o.folder.Path, "output")
	}
	if o.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return output{}, errors.Join(err, o.folder.Close())
	}
	return o, nil
}

// close removes the file, too. A file that cannot be removed is swept by the next run.
func (o output) close() { _ = errors.Join(o.file.Close(), o.folder.Close()) }
