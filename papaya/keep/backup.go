package keep

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"interleave/papaya/log"
)

// A Source is everything that a server stores.
type Source struct {
	Log    log.Log
	Text   Text
	Tables []string // names of tables of keys
	Folder string   // the data folder
	// Files are below Folder: files, or folders with everything in them. Missing ones are left out.
	Files []string
	Now   time.Time
}

// A head is papaya.json, the first file of a backup.
type head struct {
	Format  int       `json:"format"`
	Made    time.Time `json:"made"`
	Begin   uint64    `json:"begin"`   // the offset of the first line
	End     uint64    `json:"end"`     // the offset at which the state ends
	Batches int       `json:"batches"` // batches after the state
}

const (
	backupFormat = 1
	sumsName     = "SHA256SUMS"
)

// A pair is a key and its value.
type pair struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

var errEnough = errors.New("enough")

// Backup writes a copy of everything to w while the server runs: a tar that Restore reads. The copy
// is of one moment. It has the last saved state, the text up to that state, and the later batches
// of the stream, from which a server writes the rest of the text. Keys are read one after another.
func Backup(ctx context.Context, s Source, w io.Writer) error {
	if err := backup(ctx, s, w); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func backup(ctx context.Context, s Source, w io.Writer) error {
	h := head{Format: backupFormat, Made: s.Now.UTC(), Begin: s.Text.Begin()}
	sequence, state, err := s.Log.LoadState(ctx)
	if err != nil {
		return err
	}
	if h.End, err = place(state, h.Begin); err != nil {
		return err
	}
	if s.Text.End() < h.End {
		return fmt.Errorf("the text ends at %d, the state stands at %d: try again when the log "+
			"can be written", s.Text.End(), h.End)
	}
	batches, err := after(ctx, s.Log, sequence)
	if err != nil {
		return err
	}
	h.Batches = len(batches)
	a := &archive{out: tar.NewWriter(w), made: h.Made}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	a.add("papaya.json", text)
	a.copy("log", int64(h.End-h.Begin), &section{s.Text, h.Begin, h.End})
	a.add("state", state)
	for i, b := range batches {
		a.add(fmt.Sprintf("batches/%08d", i), b)
	}
	for _, name := range s.Tables {
		data, err := table(ctx, s.Log, name)
		if err != nil {
			return err
		}
		a.add("tables/"+name+".jsonl", data)
	}
	for _, name := range s.Files {
		a.tree(s.Folder, name)
	}
	return a.close()
}

// place returns the offset at which a state ends. Without a state that is the beginning of the
// text.
func place(state []byte, begin uint64) (uint64, error) {
	if len(state) == 0 {
		return begin, nil
	}
	var s struct{ At *uint64 }
	if err := json.Unmarshal(state, &s); err != nil || s.At == nil {
		return 0, fmt.Errorf("the saved state does not say where it stands: %w", cmpErr(err))
	}
	return *s.At, nil
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("no At")
	}
	return err
}

// after returns the batches of the stream after a sequence. A server would apply them after a
// crash, so they fit in memory.
func after(ctx context.Context, l log.Log, sequence uint64) ([][]byte, error) {
	last, err := l.Last(ctx)
	if err != nil || last <= sequence {
		return nil, err
	}
	var list [][]byte
	err = l.Follow(ctx, sequence, func(at uint64, batch []byte) error {
		if at <= last {
			list = append(list, bytes.Clone(batch))
		}
		if at >= last {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("reading the stream: %w", err)
	}
	return list, nil
}

func table(ctx context.Context, l log.Log, name string) ([]byte, error) {
	keys, err := l.Keys(ctx, name)
	if err != nil {
		return nil, err
	}
	names, err := keys.Keys(ctx, "")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var b bytes.Buffer
	encode := json.NewEncoder(&b)
	for _, k := range names {
		value, _, err := keys.Get(ctx, k)
		if errors.Is(err, log.ErrNoKey) {
			continue // removed in the meantime
		}
		if err == nil {
			err = encode.Encode(pair{k, value})
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// section reads the text between two offsets.
type section struct {
	text     Text
	from, to uint64
}

func (s *section) Read(p []byte) (int, error) {
	if s.from >= s.to {
		return 0, io.EOF
	}
	n, err := s.text.ReadAt(p[:min(uint64(len(p)), s.to-s.from)], s.from)
	s.from += uint64(n)
	return n, err
}

// An archive is a tar with the checksums of its files in its last file. Without that it is
// incomplete.
type archive struct {
	out  *tar.Writer
	made time.Time
	sums strings.Builder
	err  error // the first error; nothing is added after it
}

func (a *archive) add(name string, data []byte) {
	a.copy(name, int64(len(data)), bytes.NewReader(data))
}

func (a *archive) copy(name string, size int64, from io.Reader) {
	if a.err != nil {
		return
	}
	a.err = a.out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: a.made,
		Format: tar.FormatPAX})
	if a.err != nil {
		return
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(a.out, sum), from, size); err != nil {
		a.err = fmt.Errorf("%s: %w", name, err)
		return
	}
	fmt.Fprintf(&a.sums, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), name)
}

// tree adds a file, or all files of a folder. It leaves out what is removed meanwhile, and what is
// not complete yet: its name begins with a dot.
func (a *archive) tree(folder, name string) {
	if a.err != nil {
		return
	}
	err := filepath.WalkDir(filepath.Join(folder, name), func(file string, d fs.DirEntry,
		err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		below, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return a.file(path.Join("files", filepath.ToSlash(below)), file)
	})
	if err != nil {
		a.err = err
	}
}

// file adds a file of the disk, unless it is gone.
func (a *archive) file(name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	a.copy(name, info.Size(), f)
	return a.err
}

func (a *archive) close() error {
	sums := a.sums.String()
	a.add(sumsName, []byte(sums))
	if a.err != nil {
		return a.err
	}
	return a.out.Close()
}
