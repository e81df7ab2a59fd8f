package dump

import (
	"encoding/binary"
	"errors"
	"testing"
)

func section(out []byte, tag, body string) []byte {
	out = append(out, (tag + "\x00\x00\x00\x00\x00\x00\x00\x00")[:8]...)
	return append(binary.LittleEndian.AppendUint64(out, uint64(len(body))), body...)
}

func TestRead(t *testing.T) {
	file := section([]byte("MAGIC"), "head", "\x05\x00\x00\x00\x00\x00\x00\x00")
	file = section(file, "new", "unknown")
	file = section(file, "text", "\x02\x00\x00\x00\x00\x00\x00\x00hi")
	cut := len(file)
	file = section(file, "end", "")
	for _, c := range []struct {
		name  string
		data  []byte
		whole bool
		want  string
	}{
		{"whole", file, true, "head 5, text hi, "},
		{"more behind its end", append(file[:len(file):len(file)], "rest"...), true,
			"head 5, text hi, "},
		{"without its end", file[:cut], false, "head 5, text hi, "},
		{"cut in a section", file[:cut-1], false, "head 5, "},
	} {
		got := ""
		whole, err := Read(c.data, "MAGIC", func(tag string, p *Part) error {
			switch tag {
			case "head":
				got += "head " + string(rune('0'+p.Number())) + ", "
			case "text":
				got += "text " + p.Text() + ", "
			}
			return p.Err
		})
		if err != nil || whole != c.whole || got != c.want {
			t.Errorf("%s: got %q, %v, %v", c.name, got, whole, err)
		}
	}
	fail := func(_ string, p *Part) error {
		p.Text()
		return p.Err
	}
	if _, err := Read(file, "OTHER", fail); !errors.Is(err, ErrMagic) {
		t.Errorf("another magic: got %v", err)
	}
	if _, err := Read(file, "MAGIC", fail); !errors.Is(err, ErrShort) {
		t.Errorf("a text that is longer than its section: got %v", err)
	}
	if _, err := Read(section([]byte("MAGIC"), "text", ""), "MAGIC", fail); err == nil {
		t.Error("a file without a head: no error")
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{0: "0s", 999: "999ns", 12345: "12.3µs",
		1_999_999: "2ms", 61e9: "1m1s", 1 << 62: "1281025h0m0s"} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%d) = %s, want %s", ns, got, want)
		}
	}
}

// FuzzRead reads any file. It ends, and hands out no more than the file has.
func FuzzRead(f *testing.F) {
	f.Add(section(section([]byte("M"), "head", "x"), "end", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		seen := 0
		_, _ = Read(data, "M", func(_ string, p *Part) error {
			seen += len(p.Data)
			_, _ = p.Code()
			return nil
		})
		if seen > len(data) {
			t.Errorf("%d bytes of %d", seen, len(data))
		}
	})
}
