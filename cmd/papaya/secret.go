package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"interleave/papaya/account"
	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// msgidName is the place of the secret of msgids in the store.
const msgidName = "msgid"

// openMsgids returns the secret of msgids.
func openMsgids(ctx context.Context, store account.Store) (s hall.Secret, err error) {
	key, err := openSecret(ctx, store, msgidName, len(s))
	if err != nil {
		return s, fmt.Errorf("the secret of msgids: %w", err)
	}
	return hall.Secret(key), nil
}

// openSecret returns a secret of the store, which the first start makes. All servers of a log have
// the same one, also after a restart, or from a backup.
func openSecret(ctx context.Context, store account.Store, name string, size int) ([]byte, error) {
	key, _, err := store.Get(ctx, name)
	if errors.Is(err, account.ErrAbsent) {
		key = make([]byte, size)
		_, _ = rand.Read(key) // never fails
		err = store.Put(ctx, name, key, 0)
		if errors.Is(err, account.ErrChanged) { // another server was faster
			key, _, err = store.Get(ctx, name)
		}
	}
	if err == nil && len(key) != size {
		err = fmt.Errorf("it has %d bytes, not %d", len(key), size)
	}
	return key, err
}

// msgidsFile is a file of the data folder with what makes msgids: exports are made from the folder
// alone, whether a server runs or not.
const msgidsFile = "msgids"

// savedMsgids are the arguments of hall.NewMsgids.
type savedMsgids struct {
	Secret []byte `json:"secret"`
	From   uint64 `json:"from"`
}

// saveMsgids writes msgidsFile, unless it is right.
func saveMsgids(folder string, secret hall.Secret, from uint64, logger *slog.Logger) {
	data, err := json.Marshal(savedMsgids{secret[:], from})
	data = append(data, '\n')
	file := filepath.Join(folder, msgidsFile)
	if have, e := os.ReadFile(file); e == nil && bytes.Equal(have, data) {
		return
	}
	if err == nil {
		err = log.Replace(file, data)
	}
	if err != nil {
		logger.Error("exports as JSON have wrong msgids until the next start", "reason", err)
	}
}

// readMsgids reads msgidsFile. If there is none, only older versions have run on the folder, whose
// msgids are places.
func readMsgids(folder string) (*hall.Msgids, error) {
	file := filepath.Join(folder, msgidsFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return hall.NewMsgids(hall.Secret{}, nil), nil
	}
	if err != nil {
		return nil, err
	}
	var s savedMsgids
	var secret hall.Secret
	if err = json.Unmarshal(data, &s); err == nil && len(s.Secret) != len(secret) {
		err = fmt.Errorf("the secret has %d bytes, not %d", len(s.Secret), len(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, and a start of the server writes it again", file,
			err)
	}
	return hall.NewMsgids(hall.Secret(s.Secret), &s.From), nil
}
