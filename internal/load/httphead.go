package load

// The head of an HTTP/1.1 response, and the parts of a chunked body: parsers without memory of
// their own that allocate nothing, so that they may run while the engine measures.

import "bytes"

// maxHeadBytes bounds a response's head. Servers of today send 200 to 600 bytes.
const maxHeadBytes = 8 << 10

// An answer is the head of a response. Its slices are parts of what was parsed.
type answer struct {
	status   int
	length   int64 // of the body; -1: the head does not tell
	chunked  bool
	closes   bool // the server ends the connection behind it
	location []byte
	etag     []byte
	// ns that the server says it spent in its database (Server-Timing: db); -1: it does not say
	database int64
	next     int64 // likewise, waiting for the service behind it (next)
}

// The names of headers that the engine reads.
var (
	nameLength   = []byte("content-length")
	nameEncoding = []byte("transfer-encoding")
	nameClose    = []byte("connection")
	nameLocation = []byte("location")
	nameETag     = []byte("etag")
	nameTiming   = []byte("server-timing")
	wordChunked  = []byte("chunked")
	wordClose    = []byte("close")
	headEnd      = []byte("\r\n\r\n")
	lineEnd      = []byte("\r\n")
	httpOne      = []byte("HTTP/1.1 ")
)

// parse reads the head at the beginning of p and returns its length; 0 if its end is not there yet.
// A fault that is not empty says what is wrong with it.
func (a *answer) parse(p []byte) (n int, fault string) {
	end := bytes.Index(p[:min(len(p), maxHeadBytes)], headEnd)
	if end < 0 {
		switch {
		case len(p) >= maxHeadBytes:
			return 0, "the head of the answer is longer than 8 KiB"
		case !bytes.Equal(p[:min(len(p), len(httpOne))], httpOne[:min(len(p), len(httpOne))]):
			return 0, "the answer is not HTTP/1.1"
		}
		return 0, ""
	}
	*a = answer{length: -1, database: -1, next: -1}
	line, rest, _ := bytes.Cut(p[:end+len(lineEnd)], lineEnd)
	if fault = a.parseStatus(line); fault != "" {
		return 0, fault
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, lineEnd)
		name, value, found := bytes.Cut(line, []byte{':'})
		if !found || len(name) == 0 || bytes.ContainsAny(name, " \t") ||
			bytes.ContainsAny(value, "\r\n") {
			return 0, "a line of the head is no header"
		}
		if fault = a.header(name, bytes.Trim(value, " \t")); fault != "" {
			return 0, fault
		}
	}
	if a.chunked {
		a.length = -1 // RFC 9112, section 6.3: it overrides the length
	}
	return end + len(headEnd), ""
}

func (a *answer) parseStatus(line []byte) (fault string) {
	const code = 3
	if !bytes.HasPrefix(line, httpOne) || bytes.ContainsAny(line, "\r\n") {
		return "the answer is not HTTP/1.1"
	}
	line = line[len(httpOne):]
	status, ok := number(line[:min(code, len(line))], 10)
	if !ok || len(line) < code || len(line) > code && line[code] != ' ' || status < 100 {
		return "the answer has no status"
	}
	a.status = int(status)
	return ""
}

func (a *answer) header(name, value []byte) (fault string) {
	switch {
	case bytes.EqualFold(name, nameLength):
		n, ok := number(value, 10)
		if !ok || a.length >= 0 && a.length != n {
			return "the answer's Content-Length is no number, or there are two"
		}
		a.length = n
	case bytes.EqualFold(name, nameEncoding):
		if !bytes.EqualFold(value, wordChunked) {
			return "the answer's Transfer-Encoding is not chunked"
		}
		a.chunked = true
	case bytes.EqualFold(name, nameClose):
		a.closes = a.closes || bytes.EqualFold(value, wordClose)
	case bytes.EqualFold(name, nameLocation):
		a.location = value
	case bytes.EqualFold(name, nameETag):
		a.etag = value
	case bytes.EqualFold(name, nameTiming):
		if ns := serverTiming(value, "db"); ns >= 0 {
			a.database = max(a.database, 0) + ns
		}
		if ns := serverTiming(value, "next"); ns >= 0 {
			a.next = max(a.next, 0) + ns
		}
	}
	return ""
}

// empty tells the answers that have no body, whatever their headers say (RFC 9110, section 6.4.1).
func (a *answer) empty() bool { return a.status < 200 || a.status == 204 || a.status == 304 }

// number reads an unsigned number that fits into 62 bits; base is 10 or 16.
func number(p []byte, base int64) (n int64, ok bool) {
	for _, b := range p {
		var digit int64
		switch {
		case b >= '0' && b <= '9':
			digit = int64(b - '0')
		case base == 16 && b|0x20 >= 'a' && b|0x20 <= 'f':
			digit = int64(b|0x20-'a') + 10
		default:
			return 0, false
		}
		if n > (unlimited-digit)/base {
			return 0, false
		}
		n = n*base + digit
	}
	return n, len(p) > 0
}

// serverTiming is the duration of the entry of this name of a Server-Timing header (W3C Server
// Timing: milliseconds), in ns;
// -1 if it has none that can be read. Of several the first counts.
func serverTiming(value []byte, entryName string) int64 {
	for len(value) > 0 {
		var entry []byte
		entry, value = cutOutside(value, ',')
		name, params := cutOutside(entry, ';')
		if string(bytes.Trim(name, " \t")) != entryName {
			continue
		}
		for len(params) > 0 {
			var param []byte
			param, params = cutOutside(params, ';')
			key, text, _ := bytes.Cut(param, []byte{'='})
			if string(bytes.Trim(key, " \t")) == "dur" {
				return millis(bytes.Trim(text, " \t\""))
			}
		}
		return -1
	}
	return -1
}

// cutOutside cuts p at the first separator that is not within quotes.
func cutOutside(p []byte, separator byte) (before, after []byte) {
	quoted := false
	for i := 0; i < len(p); i++ {
		switch {
		case quoted && p[i] == '\\':
			i++
		case p[i] == '"':
			quoted = !quoted
		case p[i] == separator && !quoted:
			return p[:i], p[i+1:]
		}
	}
	return p, nil
}

// millis reads decimal milliseconds as ns; -1 if it is none, or more than a day. Digits below a
// ns are dropped.
func millis(p []byte) int64 {
	const day = 24 * 60 * 60 * 1000
	whole, part, _ := bytes.Cut(p, []byte{'.'})
	n, ok := number(whole, 10)
	if !ok || n > day {
		return -1
	}
	n *= 1e6
	for unit := int64(1e5); len(part) > 0; part, unit = part[1:], unit/10 {
		if part[0] < '0' || part[0] > '9' {
			return -1
		}
		n += int64(part[0]-'0') * unit
	}
	return n
}

// chunks reads a chunked body (RFC 9112, section 7.1) in parts as they come. The zero value stands
// before the first chunk.
type chunks struct {
	state chunkState
	left  int64 // bytes of the chunk
	line  int   // bytes of the line so far
}

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkSizeEnd
	chunkData
	chunkDataEnd
	chunkDataFeed
	chunkTrailer
	chunkTrailerEnd
	chunksOver
)

// maxChunkLine bounds a size with its extension, and a trailer.
const maxChunkLine = 1 << 10

// next takes what comes next out of p: used bytes of it, of which data, its end, are the body's. It
// returns at the end of a run of data, of p, or of the body; over tells the last.
func (k *chunks) next(p []byte) (data []byte, used int, over, ok bool) {
	for used < len(p) && k.state != chunksOver {
		if k.state == chunkData {
			n := int(min(int64(len(p)-used), k.left))
			data = p[used : used+n]
			if k.left -= int64(n); k.left == 0 {
				k.state = chunkDataEnd
			}
			return data, used + n, false, true
		}
		if !k.step(p[used]) {
			return nil, used, false, false
		}
		used++
	}
	return nil, used, k.state == chunksOver, true
}

// step takes a byte that is not data.
func (k *chunks) step(b byte) bool {
	k.line++
	switch k.state {
	case chunkSize:
		digit, ok := number([]byte{b}, 16)
		switch {
		case ok && k.left < 1<<40:
			k.left = k.left<<4 | digit
		case k.line == 1:
			return false
		case b == ';' || b == ' ' || b == '\t':
			k.state = chunkExtension
		case b == '\r':
			k.state = chunkSizeEnd
		default:
			return false
		}
	case chunkExtension:
		if b == '\r' {
			k.state = chunkSizeEnd
		}
	case chunkSizeEnd:
		k.state, k.line = chunkData, 0
		if k.left == 0 {
			k.state = chunkTrailer
		}
		return b == '\n'
	case chunkDataEnd:
		k.state = chunkDataFeed
		return b == '\r'
	case chunkDataFeed:
		k.state, k.line = chunkSize, 0
		return b == '\n'
	case chunkTrailer:
		if b == '\r' {
			k.state = chunkTrailerEnd
		}
	case chunkTrailerEnd:
		empty := k.line == 2 // nothing but this line's end
		k.state, k.line = chunkTrailer, 0
		if empty {
			k.state = chunksOver
		}
		return b == '\n'
	}
	return k.line <= maxChunkLine
}
