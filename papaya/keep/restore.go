package keep

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"interleave/papaya/log"
)

// Restored says what a backup contained.
type Restored struct {
	Lines   int // of the text; a start of the server adds those of the batches
	Batches int
	Keys    int
	Files   int
}

// Restore makes folder from a backup. The folder must be missing or empty, so nothing is
// overwritten. It appears complete, after all checksums were compared, or not at all. open opens
// the log of a data folder as a server does.
func Restore(ctx context.Context, r io.Reader, folder string, open func(folder string) (log.Log,
	error)) (Restored, error) {
	done, err := restore(ctx, r, filepath.Clean(folder), open)
	if err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	return done, nil
}

func restore(ctx context.Context, r io.Reader, folder string, open func(folder string) (log.Log,
	error)) (done Restored, err error) {
	if list, err := os.ReadDir(folder); err == nil && len(list) > 0 {
		return done, fmt.Errorf("%s is not empty: expected a folder that is not there yet", folder)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return done, err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return done, err
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), ".restoring-") // mode 0700
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(work) // after the rename it has little left
	raw, fresh := filepath.Join(work, "raw"), filepath.Join(work, "data")
	if err := unpack(r, raw); err != nil {
		return done, err
	}
	var h head
	data, err := os.ReadFile(filepath.Join(raw, "papaya.json"))
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil {
		return done, err
	}
	if h.Format != backupFormat {
		return done, fmt.Errorf("a backup of format %d, expected %d", h.Format, backupFormat)
	}
	if done.Files, err = arrange(raw, fresh, h); err != nil {
		return done, err
	}
	if done.Lines, err = countLines(filepath.Join(fresh, "log")); err != nil {
		return done, err
	}
	l, err := open(fresh)
	if err != nil {
		return done, err
	}
	done.Batches, done.Keys, err = refill(ctx, l, raw, h)
	if err := errors.Join(err, l.Close()); err != nil {
		return done, err
	}
	_ = os.Remove(folder) // an empty one must go
	return done, os.Rename(fresh, folder)
}

// unpack writes the files of a backup and compares their checksums.
func unpack(r io.Reader, to string) error {
	in := tar.NewReader(bufio.NewReaderSize(r, 64<<10))
	var sums strings.Builder
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("the backup is cut off: it has no sums at its end")
		}
		if err != nil {
			return fmt.Errorf("not a backup, or damaged: %w", err)
		}
		if h.Name == sumsName {
			want, err := io.ReadAll(io.LimitReader(in, int64(sums.Len())+1))
			if err != nil {
				return err
			}
			if string(want) != sums.String() {
				return errors.New("the backup is damaged: its sums are wrong")
			}
			return nil
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("not a backup: it holds %q", h.Name)
		}
		sum, err := extract(in, filepath.Join(to, filepath.FromSlash(h.Name)))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, h.Name)
	}
}

func extract(from io.Reader, file string) (sum string, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), from)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, f.Sync(), f.Close())
}

// arrange makes a data folder from the unpacked files.
func arrange(raw, fresh string, h head) (files int, err error) {
	below := filepath.Join(raw, "files")
	if err := os.Rename(below, fresh); errors.Is(err, os.ErrNotExist) {
		err = os.Mkdir(fresh, 0o700)
		if err != nil {
			return 0, err
		}
	} else if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(fresh, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if h.Begin > 0 {
		if err := os.WriteFile(filepath.Join(fresh, "log.begin"), strconv.AppendUint(nil, h.Begin,
			10), 0o600); err != nil {
			return 0, err
		}
	}
	return files, os.Rename(filepath.Join(raw, "log"), filepath.Join(fresh, "log"))
}

// refill stores the state, the batches and the keys in a new log.
func refill(ctx context.Context, l log.Log, raw string, h head) (batches, keys int, err error) {
	if last, err := l.Last(ctx); err != nil || last > 0 {
		return 0, 0, fmt.Errorf("the log has %d batches already, expected an empty one: %w", last,
			cmpErr(err))
	}
	state, err := os.ReadFile(filepath.Join(raw, "state"))
	if err != nil {
		return 0, 0, err
	}
	if len(state) > 0 {
		if err := l.SaveState(ctx, 0, state); err != nil {
			return 0, 0, err
		}
	}
	list, err := filepath.Glob(filepath.Join(raw, "batches", "*"))
	if err != nil {
		return 0, 0, err
	}
	if len(list) != h.Batches {
		return 0, 0, fmt.Errorf("%d batches, expected %d", len(list), h.Batches)
	}
	sort.Strings(list)
	for _, file := range list {
		b, err := os.ReadFile(file)
		if err == nil {
			_, err = l.Append(ctx, b)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	tables, err := filepath.Glob(filepath.Join(raw, "tables", "*.jsonl"))
	if err != nil {
		return 0, 0, err
	}
	for _, file := range tables {
		n, err := fill(ctx, l, file)
		if err != nil {
			return 0, 0, err
		}
		keys += n
	}
	return len(list), keys, nil
}

func fill(ctx context.Context, l log.Log, file string) (int, error) {
	name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
	t, err := l.Keys(ctx, name)
	if err != nil {
		return 0, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n := 0
	for d := json.NewDecoder(bytes.NewReader(data)); ; n++ {
		var p pair
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, fmt.Errorf("table %s: %w", name, err)
		}
		if err := t.Put(ctx, p.Key, p.Value, 0); err != nil {
			return n, err
		}
	}
}

func countLines(file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	piece := make([]byte, 64<<10)
	for {
		k, err := f.Read(piece)
		n += bytes.Count(piece[:k], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
