package log

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// embedded is a NATS server inside the program. It opens no port: who speaks with it is in
// the same process.
type embedded struct {
	server *natsserver.Server
	folder string
	info   os.FileInfo // the folder as it was when the server began
}

// startTimeout is long: the server reads what it has kept before it answers.
const startTimeout = 60 * time.Second

func startEmbedded(folder string) (*embedded, error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	server, err := natsserver.NewServer(&natsserver.Options{
		ServerName: "papaya", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: folder, SyncAlways: true,
		// what the stream may take, the stream says
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 50,
		MaxPayload: 8 << 20, MaxPending: 256 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("starting JetStream in %s: %w", folder, err)
	}
	e := &embedded{server: server, folder: folder, info: info}
	server.Start()
	if !server.ReadyForConnections(startTimeout) || !server.JetStreamEnabled() {
		e.stop()
		return nil,
			fmt.Errorf("starting JetStream in %s: it does not start; is the disk full, or the "+
				"folder not yours?", folder)
	}
	return e, nil
}

func (e *embedded) stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// other says whether the server's folder is another one by now, so that it writes into nowhere; or
// why there is none.
func (e *embedded) other() (bool, error) {
	now, err := os.Stat(e.folder)
	if err != nil {
		_, parent := os.Stat(filepath.Dir(e.folder))
		return parent == nil, parent
	}
	return !os.SameFile(now, e.info), nil
}

// reserve is in bytes. What JetStream cannot write it takes for the end of all, so the last of the
// disk is left alone.
const reserve = 1 << 20

// room says whether a batch will find room in the file system that holds folder, or its parent
// while it is not there.
func room(folder string, batch int) error {
	var fs syscall.Statfs_t
	err := syscall.Statfs(folder, &fs)
	if errors.Is(err, syscall.ENOENT) {
		return nil // it will be made, or that fails and says why
	}
	if err != nil {
		return &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	keep := min(reserve, fs.Blocks*uint64(fs.Bsize)/16) + 2*uint64(batch)
	// FreeBSD counts below 0 where more is used than others may use.
	available := max(int64(fs.Bavail), 0)
	if uint64(available)*uint64(fs.Bsize) < keep {
		return &os.PathError{Op: "write", Path: folder, Err: syscall.ENOSPC}
	}
	return nil
}
