package servers_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compressed runs testdata/server/compress.eve with these lines, and returns its answers.
func compressed(t testing.TB, exe string, lines ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%v: %s", err, said.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func packedByGo(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpackedByGo(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatalf("%v: %q", err, head(text))
	}
	return b
}

// Go reads what Eve has packed, and the other way round, whole and in parts.
func TestCompress(t *testing.T) {
	t.Parallel()
	exe := example(t, "compress")
	for _, data := range []string{"", "x", "\x00\xff", strings.Repeat("abcd", 50_000),
		strings.Repeat("a", 66_000) + "b"} {
		x := hex.EncodeToString([]byte(data))
		for _, level := range []int{-1, 0, 1, 6, 9, 99} {
			got := compressed(t, exe, fmt.Sprintf("gzip %d %s", level, x),
				fmt.Sprintf("zlib %d %s", level, x))
			if out, err := unpackedByGo(unhex(t, got[0])); err != nil || string(out) != data {
				t.Errorf("gzip of %q, level %d: %v, %q", head(data), level, err, head(string(out)))
			}
			r, err := zlib.NewReader(bytes.NewReader(unhex(t, got[1])))
			if err != nil {
				t.Fatal(err)
			}
			if out, err := io.ReadAll(r); err != nil || string(out) != data {
				t.Errorf("zlib of %q, level %d: %v, %q", head(data), level, err, head(string(out)))
			}
		}
		z := packedByGo(t, []byte(data), 6)
		two := hex.EncodeToString(append(bytes.Clone(z), z...))
		parts := []string{"parts 1000000"}
		for i := range z {
			parts = append(parts, hex.EncodeToString(z[i:i+1]))
		}
		got := compressed(t, exe, "gunzip 1000000 "+hex.EncodeToString(z), "gunzip 1000000 "+two,
			strings.Join(parts, " "), "pack "+x+" "+x, "unzlib 1000 "+hex.EncodeToString(z))
		for i, want := range []string{x, x + x, x} {
			if got[i] != want {
				t.Errorf("%q, %d: got %q", head(data), i, head(got[i]))
			}
		}
		for i := range 2 { // the packer begins anew
			if out, err := unpackedByGo(unhex(t, got[3+i])); err != nil ||
				string(out) != data+data {
				t.Errorf("%q in parts: %v, %q", head(data), err, head(string(out)))
			}
		}
		if got[5] != "error 1 incorrect header check" {
			t.Errorf("gzip is no zlib: %q", got[5])
		}
	}
}

// Data that is wrong, that ends early, or that is a bomb.
func TestCompressHostile(t *testing.T) {
	t.Parallel()
	exe := example(t, "compress")
	good := packedByGo(t, []byte(strings.Repeat("hello, ", 100)), 6)
	bomb := hex.EncodeToString(packedByGo(t, make([]byte, 64<<20), 9)) // 64 KiB of 64 MiB
	x := func(b ...byte) string { return hex.EncodeToString(b) }
	bad := bytes.Clone(good)
	bad[len(bad)-5] ^= 1 // of the checksum
	for _, c := range []struct{ line, want string }{
		{"gunzip 1000 ", "error 2 the data ends early"},
		{"gunzip 1000 " + x(good[:1]...), "error 2 the data ends early"},
		{"gunzip 1000 " + x(good[:len(good)-1]...), "error 2 the data ends early"},
		{"gunzip 1000 " + x(bad...), "error 1 incorrect data check"},
		{"gunzip 1000 00112233", "error 1 incorrect header check"},
		{"gunzip 1000 " + x(append(bytes.Clone(good), "more"...)...),
			"error 1 incorrect header check"},
		{"gunzip 699 " + x(good...), "error 3 the data is larger than is allowed"},
		{"gunzip 0 " + x(good...), "error 3 the data is larger than is allowed"},
		{"gunzip -5 " + x(good...), "error 3 the data is larger than is allowed"},
		{"gunzip 0 " + x(packedByGo(t, nil, 6)...), ""},
		{"gunzip 67108863 " + bomb, "error 3 the data is larger than is allowed"},
		{"gunzip 700 " + x(good...), x([]byte(strings.Repeat("hello, ", 100))...)},
		{"parts 1000 " + x(bad[:20]...) + " 00", " error 2 the data ends early"},
		{"parts 1000 001122 " + x(good...), "error 1 incorrect header check, " +
			"error 1 the data was wrong before,  error 1 the data was wrong before"},
	} {
		got := compressed(t, exe, c.line)[0]
		if strings.HasSuffix(c.want, "ends early") && strings.HasPrefix(c.line, "parts") {
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("%s: got %q, want %q at its end", head(c.line), head(got), c.want)
			}
		} else if got != c.want {
			t.Errorf("%s: got %q, want %q", head(c.line), head(got), head(c.want))
		}
	}
}

// FuzzGunzip unpacks any bytes. What Eve can unpack, Go can, to the same bytes.
func FuzzGunzip(f *testing.F) {
	exe := example(f, "compress")
	good := packedByGo(f, []byte("hello, hello, hello"), 6)
	for _, data := range [][]byte{nil, good, good[:5], append(bytes.Clone(good), good...),
		append(bytes.Clone(good), 0), {0x1f, 0x8b}, {0x1f, 0x8b, 8, 0xff, 1, 2, 3, 4, 5, 6}} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := hex.EncodeToString(data)
		got := compressed(t, exe, "gunzip 1000000 "+x, "gzip 6 "+x)
		if back, err := unpackedByGo(unhex(t, got[1])); err != nil || !bytes.Equal(back, data) {
			t.Errorf("packed: %v, %q", err, back)
		}
		if strings.HasPrefix(got[0], "error ") {
			return
		}
		want, err := unpackedByGo(data)
		if err != nil || got[0] != hex.EncodeToString(want) {
			t.Errorf("got %q, want %q, %v", head(got[0]), head(string(want)), err)
		}
	})
}

// The page packs as gzip does: each reads the other's files.
func TestPageOfPack(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("gzip")
	if err != nil {
		t.Skip("SKIP: gzip is not here: apt-get install gzip")
	}
	exe, dir := page(t, "pack"), t.TempDir()
	big := strings.Repeat("a line of a log\n", 100_000)
	name := filepath.Join(dir, "log")
	run := func(words ...string) *process {
		t.Helper()
		p := startWith(t, words)
		<-p.ended
		return p
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustHold := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %v, %q", name, err, head(string(got)))
		}
	}
	put(name, big)
	put(filepath.Join(dir, "empty"), "")
	run(exe, name, filepath.Join(dir, "empty")).mustExit(0)
	mustHold(name, big)
	if info, err := os.Stat(name + ".gz"); err != nil || info.Size() > 20_000 {
		t.Errorf("%v: %+v", err, info)
	}
	if out, err := exec.Command(tool, "-dc", name+".gz", filepath.Join(dir,
		"empty.gz")).Output(); err != nil || string(out) != big {
		t.Errorf("gzip -d: %v, %q", err, head(string(out)))
	}
	put(name, big+"more\n")
	if err := exec.Command(tool, "-f", name).Run(); err != nil {
		t.Fatal(err)
	}
	run(exe, "-u", name+".gz").mustExit(0)
	mustHold(name, big+"more\n")
	put(name, "stays")
	for _, c := range []struct{ words, want string }{
		{"-u -m 1000 " + name + ".gz", "the data is larger than is allowed"},
		{"-u " + name, "log does not end with .gz"},
		{filepath.Join(dir, "none"), "none: No such file or directory"},
	} {
		if p := run(append([]string{exe}, strings.Fields(c.words)...)...); !strings.Contains(
			p.err.String(), c.want) {
			t.Errorf("%s: said %q, want %s", c.words, p.err.String(), c.want)
		}
	}
	put(name+".gz", "no gzip")
	if p := run(exe, "-u", name+".gz"); !strings.Contains(p.err.String(),
		"incorrect header check") {
		t.Errorf("a file that is no gzip: said %q", p.err.String())
	}
	mustHold(name, "stays")
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) > 0 {
		t.Errorf("%q is left over", left)
	}
}
