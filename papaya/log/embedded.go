package log

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// embedded is a NATS server inside the program. It opens no port, since its only client is the
// program itself.
type embedded struct {
	server *natsserver.Server
	folder string
	info   os.FileInfo // the folder when the server was started
}

// startTimeout is long: the server reads its files before it answers.
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
		// The stream has limits of its own.
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

// replaced says whether the folder was replaced, so that the server writes into deleted files. It
// returns an error if there is no folder.
func (e *embedded) replaced() (bool, error) {
	now, err := os.Stat(e.folder)
	if err != nil {
		_, parent := os.Stat(filepath.Dir(e.folder))
		return parent == nil, parent
	}
	return !os.SameFile(now, e.info), nil
}

// reserve is in bytes. JetStream stops for good when a write fails, so this much of the disk is
// left free.
const reserve = 1 << 20

// checkSpace reports an error if the file system of folder has no room for a batch.
func checkSpace(folder string, batch int) error { return Space(folder, reserve, 2*batch) }
