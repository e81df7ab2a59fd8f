package search

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
)

// FuzzSegment reads files with damage that their sums do not show. Whatever they say is an answer
// within the segment, or an error.
func FuzzSegment(f *testing.F) {
	p := newPaper()
	p.fill(1)
	s, _, err := build(p, 0)
	if err != nil {
		f.Fatal(err)
	}
	raw := make([]byte, s.size)
	if _, err := s.bytes.ReadAt(raw, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(raw, 0, uint64(0))
	for at := int(s.size) - footerSize; at+8 <= len(raw); at += 8 {
		f.Add(raw, at, uint64(1)<<33-1)
	}
	f.Add(raw, int(s.names.at), uint64('\n')<<8|'\n')
	f.Add(raw, int(s.words.records), uint64(1)<<40-9)
	f.Fuzz(func(t *testing.T, raw []byte, at int, word uint64) {
		raw = slices.Clone(raw)
		if at >= 0 && at+8 <= len(raw) {
			binary.LittleEndian.PutUint64(raw[at:], word)
		}
		if body := len(raw) - footerSize; body >= 0 {
			footer := raw[body:]
			binary.LittleEndian.PutUint32(footer[footerSize-8:],
				crc32.Checksum(raw[:body], castagnoli))
			binary.LittleEndian.PutUint32(footer[footerSize-4:],
				crc32.Checksum(footer[:footerSize-4], castagnoli))
		}
		s, err := readSegment(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		exercise(t, s)
	})
}

// TestOtherFormat: files with the format of another version are made again. That is said once, and
// is no warning.
func TestOtherFormat(t *testing.T) {
	p := newPaper()
	p.fill(33)
	folder := t.TempDir()
	x := opened(t, folder, p)
	x.close()
	paths, whole := []string{x.path(0, 16), x.path(16, 16)}, [][]byte(nil)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, raw)
		raw = slices.Clone(raw)
		footer := raw[len(raw)-footerSize:]
		copy(footer, magicBegin+"1\n")
		binary.LittleEndian.PutUint32(footer[footerSize-4:],
			crc32.Checksum(footer[:footerSize-4], castagnoli))
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	x = New(folder, p, slog.New(slog.NewTextHandler(&said, nil)))
	t.Cleanup(x.close)
	settle(t, x)
	check(t, x, p)
	for i, path := range paths {
		if raw, err := os.ReadFile(path); err != nil || !bytes.Equal(raw, whole[i]) {
			t.Errorf("%s is not made again, %v", path, err)
		}
	}
	log := said.String()
	if strings.Count(log, "made again") != 1 || strings.Contains(log, "WARN") {
		t.Errorf("the log has %q", log)
	}
}

// exercise asks a segment all that there is to ask.
func exercise(t *testing.T, s *segment) {
	end := s.base() + uint64(s.limit())
	within := func(offsets []uint64) {
		for _, at := range offsets {
			if at < s.base() || at >= end {
				t.Errorf("the offset %d is not from %d to %d", at, s.base(), end)
			}
		}
	}
	for _, newest := range []bool{true, false} {
		offsets, err := s.offsets([]string{everything, "#1", Events("#1")}, 0, end, 100, newest)
		if err == nil {
			within(offsets)
		}
	}
	_, _ = s.has(s.base() + 77)
	for _, words := range [][]string{nil, {"tea"}, {"e"}, {"ea", "number1", "茶"}} {
		q, err := s.query([]string{"#1", "#2"}, words, 0, end)
		for more := true; more && err == nil; {
			var offsets []uint64
			offsets, more, err = q.Next()
			within(offsets)
		}
	}
	if s.chunks > 16 { // the file has the newest times of all its chunks, so it is not that small
		return
	}
	_, _ = inMemory(s.from, s.chunks, s.first, func(w *writer) error {
		return merge(t.Context(), w, []*segment{s}, nil)
	})
}
