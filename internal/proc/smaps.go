package proc

import "bytes"

// A FileID names a file whose pages processes share.
type FileID struct{ Device, Inode uint64 }

// A Mapping is the memory of one mapping of a file, in bytes. Anonymous is the part of RSS that the
// process has written to, and so has for itself.
type Mapping struct {
	File                FileID
	RSS, PSS, Anonymous int64
}

// ParseMappings gives the mappings of files in /proc/PID/smaps.
func ParseMappings(b []byte, each func(Mapping)) {
	var m Mapping
	known := false
	end := func() {
		if known && m.File.Inode != 0 {
			each(m)
		}
	}
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		switch file, header := parseMappingHead(line); {
		case header:
			end()
			m, known = Mapping{File: file}, true
		case bytes.HasPrefix(line, []byte("Rss:")):
			m.RSS = kilobytes(line)
		case bytes.HasPrefix(line, []byte("Pss:")):
			m.PSS = kilobytes(line)
		case bytes.HasPrefix(line, []byte("Anonymous:")):
			m.Anonymous = kilobytes(line)
		}
	}
	end()
}

// parseMappingHead reads the first line of a mapping:
// 55d0c0a00000-55d0c0a02000 r--p 00000000 fe:01 4242    /usr/bin/server
func parseMappingHead(line []byte) (id FileID, ok bool) {
	dash := bytes.IndexByte(line, '-')
	if dash < 1 || !hexadecimal(line[:dash]) {
		return id, false
	}
	var f [5][]byte
	for i := range f {
		if f[i], line, _ = bytes.Cut(bytes.TrimLeft(line, " "), []byte(" ")); len(f[i]) == 0 {
			return id, false
		}
	}
	major, minor, found := bytes.Cut(f[3], []byte(":"))
	if !found || !hexadecimal(major) || !hexadecimal(minor) {
		return id, false
	}
	inode, rest, ok := number(f[4])
	if !ok || len(rest) > 0 || inode < 0 {
		return id, false
	}
	return FileID{hexValue(major)<<32 | hexValue(minor), uint64(inode)}, true
}

// kilobytes is the figure of a line such as "Rss:   12 kB", in bytes.
func kilobytes(line []byte) int64 {
	_, figure, _ := bytes.Cut(line, []byte(":"))
	n, _, ok := number(figure)
	if !ok || n < 0 || n > 1<<50 {
		return 0
	}
	return n << 10
}

func hexadecimal(p []byte) bool {
	for _, c := range p {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(p) > 0 && len(p) <= 16
}

func hexValue(p []byte) (v uint64) {
	for _, c := range p {
		digit := uint64(c - '0')
		if c >= 'a' {
			digit = uint64(c-'a') + 10
		}
		v = v<<4 | digit
	}
	return v
}
