package proc

import (
	"os"
	"slices"
	"testing"
)

const smaps = `55d0c0a00000-55d0c0a02000 r--p 00000000 fe:01 4242    /usr/bin/a server
Size:                  8 kB
Rss:                   8 kB
Pss:                   4 kB
Anonymous:             0 kB
VmFlags: rd mr mw me sd
55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0       [heap]
Rss:                 512 kB
Pss:                 512 kB
Anonymous:           512 kB
7f0000000000-7f0000001000 rw-p 00001000 fe:01 77 /lib/libc.so.6
Rss:                   4 kB
Pss:                   4 kB
Anonymous:             4 kB
`

func TestParseMappings(t *testing.T) {
	var got []Mapping
	ParseMappings([]byte(smaps), func(m Mapping) { got = append(got, m) })
	device := uint64(0xfe)<<32 | 1
	want := []Mapping{{FileID{device, 4242}, 8192, 4096, 0}, {FileID{device, 77}, 4096, 4096, 4096}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, none := range []string{"", "Rss: 4 kB\n", "x-y\n", "1-2 r--p 0 fe:01\n",
		"1-2 r--p 0 fe01 3 /a\n", "1-2 r--p 0 fe:01 x /a\n", "1-2 r--p 0 fe:01 0 [heap]\n"} {
		ParseMappings([]byte(none), func(m Mapping) { t.Errorf("%q: got %+v", none, m) })
	}
}

// TestOwnMappings reads this process: its own text is there.
func TestOwnMappings(t *testing.T) {
	var rss int64
	ParseMappings(new(Reader).File(os.Getpid(), "smaps"), func(m Mapping) {
		if m.PSS > m.RSS || m.Anonymous > m.RSS {
			t.Errorf("got %+v", m)
		}
		rss += m.RSS
	})
	if rss == 0 {
		t.Error("this process has no page of its program")
	}
}

func FuzzMappings(f *testing.F) {
	f.Add([]byte(smaps))
	f.Add([]byte("1-2 r--p 0 fe:01 3 /a\nRss: 99999999999999999999 kB\nPss: -1 kB"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ParseMappings(b, func(m Mapping) {
			if m.RSS < 0 || m.PSS < 0 || m.Anonymous < 0 || m.File.Inode == 0 {
				t.Errorf("got %+v", m)
			}
		})
	})
}
