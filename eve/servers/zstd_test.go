package servers_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A coding is a module that packs, and the command of others that does the same.
type coding struct{ module, tool, header, install string }

var codings = []coding{
	{"zstd", "zstd", "/usr/include/zstd.h", "apt-get install libzstd-dev zstd"},
	{"brotli", "brotli", "/usr/include/brotli/encode.h", "apt-get install libbrotli-dev brotli"},
}

// packers is testdata/server/zstd.eve for a module.
func packers(t testing.TB, c coding) string {
	t.Helper()
	if _, err := os.Stat(c.header); err != nil {
		t.Skip("SKIP: " + c.install)
	}
	text := strings.ReplaceAll(exampleText(t, "zstd"), "zstd", c.module)
	return compiled(t, c.module+".eve", text)
}

// by runs the command of others.
func (c coding) by(t testing.TB, data []byte, flags ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.tool, append(flags, "-c")...)
	cmd.Stdin = bytes.NewReader(data)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", c.tool, err, said.String())
	}
	return out
}

func onEach(t *testing.T, test func(t *testing.T, c coding, exe string)) {
	t.Parallel()
	for _, c := range codings {
		t.Run(c.module, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip("SKIP: " + c.install)
			}
			test(t, c, packers(t, c))
		})
	}
}

// bytewise is a line that unpacks the data byte by byte.
func bytewise(most int, data []byte) string {
	line := fmt.Sprintf("parts %d", most)
	for i := range data {
		line += " " + hex.EncodeToString(data[i:i+1])
	}
	return line
}

// The command reads what Eve has packed, and the other way round, whole and in parts.
func TestZstdAndBrotli(t *testing.T) {
	onEach(t, func(t *testing.T, c coding, exe string) {
		for _, data := range []string{"", "x", "\x00\xff", strings.Repeat("abcd", 50_000),
			strings.Repeat("a", 66_000) + "b"} {
			x := hex.EncodeToString([]byte(data))
			for _, level := range []int{-1, 0, 1, 5, 11, 19, 99} {
				got := compressed(t, exe, fmt.Sprintf("whole %d %s", level, x))
				if out := c.by(t, unhex(t, got[0]), "-d"); string(out) != data {
					t.Errorf("%q, level %d: %q", head(data), level, head(string(out)))
				}
			}
			packed := c.by(t, []byte(data))
			got := compressed(t, exe, "unpack 1000000 "+hex.EncodeToString(packed),
				bytewise(1_000_000, packed), "pack "+x+" "+x)
			for i, want := range []string{x, x} {
				if got[i] != want {
					t.Errorf("%q, %d: got %q", head(data), i, head(got[i]))
				}
			}
			for i := range 2 { // the packer begins anew
				if out := c.by(t, unhex(t, got[2+i]), "-d"); string(out) != data+data {
					t.Errorf("%q in parts, round %d: %q", head(data), i, head(string(out)))
				}
			}
		}
	})
}

// Data that is wrong, that ends early, or that is a bomb.
func TestZstdAndBrotliHostile(t *testing.T) {
	const large = "error 3 the data is larger than is allowed"
	onEach(t, func(t *testing.T, c coding, exe string) {
		text := strings.Repeat("hello, ", 100)
		good := c.by(t, []byte(text))
		// brotli at its usual level takes twenty times as long for this
		bomb := hex.EncodeToString(c.by(t, make([]byte, 64<<20), "-3"))
		x := hex.EncodeToString(good)
		cases := []struct{ line, want string }{
			{"unpack 1000 ", "error 2 the data ends early"},
			{"unpack 1000 " + x[:2], "error 2 the data ends early"},
			{"unpack 1000 " + x[:len(x)-2], "error 2 the data ends early"},
			{"unpack 699 " + x, large},
			{"unpack 0 " + x, large},
			{"unpack -5 " + x, large},
			{"unpack 0 " + hex.EncodeToString(c.by(t, nil)), ""},
			{"unpack 67108863 " + bomb, large},
			{"unpack 700 " + x, hex.EncodeToString([]byte(text))},
			{"parts 699 " + x, large + ",  error 1 the data was wrong before"},
		}
		switch c.module {
		case "zstd":
			bad := bytes.Clone(good)
			bad[len(bad)-1] ^= 1 // of the checksum
			wide := c.by(t, bytes.Repeat([]byte("wide"), 10<<20), "--long=27")
			cases = append(cases, []struct{ line, want string }{
				{"unpack 1400 " + x + x, hex.EncodeToString([]byte(text + text))},
				{"unpack 1000 " + hex.EncodeToString(bad),
					"error 1 Restored data doesn't match checksum"},
				{"unpack 1000 00112233", "error 1 Unknown frame descriptor"},
				{"unpack 1000 " + x + "00112233", "error 1 Unknown frame descriptor"},
				{"unpack 67108864 " + hex.EncodeToString(wide),
					"error 3 the data was packed with a window of more than 8 MiB"},
			}...)
		case "brotli":
			cases = append(cases, []struct{ line, want string }{
				{"unpack 1000 " + x + "00", "error 1 there is more behind the end"},
				{"parts 1000 " + x + " 00", "error 1 there is more behind the end, " +
					hex.EncodeToString([]byte(text)) + " error 1 the data was wrong before"},
				{"unpack 1000 ffffffff", "error 1 the data is damaged"},
			}...)
		}
		for _, c := range cases {
			if got := compressed(t, exe, c.line)[0]; got != c.want {
				t.Errorf("%s: got %q, want %q", head(c.line), head(got), head(c.want))
			}
		}
	})
}

func fuzzCoding(f *testing.F, c coding) {
	exe := packers(f, c)
	f.Add([]byte(nil))
	for _, data := range []string{"", "hello, hello, hello", strings.Repeat("a", 1000)} {
		packed := unhex(f, compressed(f, exe, "whole 3 "+hex.EncodeToString([]byte(data)))[0])
		f.Add(packed)
		f.Add(packed[:len(packed)/2])
		f.Add(append(packed, packed...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := hex.EncodeToString(data)
		packed := compressed(t, exe, "whole 3 "+x)[0]
		got := compressed(t, exe, "unpack 100000 "+packed, "unpack 100000 "+x,
			bytewise(100_000, data))
		if got[0] != x && len(data) <= 100_000 {
			t.Errorf("unpacked to %q", head(got[0]))
		}
		// libzstd compares the size in the head of a frame with what comes out, but not of a frame
		// that comes in parts and ends with an empty block.
		lenient := c.module == "zstd" && !strings.Contains(got[2], "error ") &&
			got[1] == "error 1 Data corruption detected"
		if failed := strings.HasPrefix(got[1], "error "); !lenient && (failed !=
			strings.Contains(got[2], "error ") || !failed && got[1] != got[2]) {
			t.Errorf("whole: %q, in parts: %q", head(got[1]), head(got[2]))
		}
	})
}

// FuzzUnzstd and FuzzUnbrotli unpack any bytes: whole and byte by byte they are the same.
func FuzzUnzstd(f *testing.F)   { fuzzCoding(f, codings[0]) }
func FuzzUnbrotli(f *testing.F) { fuzzCoding(f, codings[1]) }
