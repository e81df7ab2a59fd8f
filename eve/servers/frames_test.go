package servers_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"interleave/eve/ir"
)

// A program that parses its further arguments, in hexadecimal, as frames of a client or of a
// server, and prints what they are.
const framesProgram = `import io.frames
import util.hash
import util.hex
main: [+stdout] () void:
    args: vector<string> = process.args()
    p: frames.parser = frames.from_client(70_000)
    if args[0] == "server": p = frames.from_server(70_000)
    p.packs = args[0] == "packs"
    i: int = 1
    going: bool = true
    while going:
        match p.next():
            more:
                going = i < args.size()
                if going:
                    match hex.decode(args[i]):
                        ok(b): p.push(b)
                        error(e): print("%s\n", e)
                i += 1
            message(text, binary):
                print("message %v %d %x\n", binary, text.size(), hash.crc32(text))
            packed(data, binary): print("packed %v %s\n", binary, data.bytes().hex())
            ping(data): print("ping %x\n", data)
            pong: print("pong\n")
            close(code, reason): print("close %d %s\n", code, reason)
            failed(code, why): print("failed %d %s\n", code, why)
    if p.begun(): print("begun\n")
`

// largestMessage is the limit of that program, in bytes.
const largestMessage = 70_000

// Opcodes of RFC 6455, section 5.2, and the bit of a message's last frame.
const (
	opRest   = 0
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
	opPacked = 0x40 // a bit, too: RFC 7692
	last     = 0x80
)

// maskKey is the key of all frames here: that of the examples in section 5.7.
var maskKey = []byte{0x37, 0xfa, 0x21, 0x3d}

// masked is a frame of a client with this first byte.
func masked(first byte, payload string) string {
	head := frameHead(first, len(payload))
	head[1] |= 0x80
	return string(append(append(head, maskKey...), xor([]byte(payload), maskKey)...))
}

// plain is a frame of a server.
func plain(first byte, payload string) string {
	return string(frameHead(first, len(payload))) + payload
}

func frameHead(first byte, size int) []byte {
	switch {
	case size < 126:
		return []byte{first, byte(size)}
	case size < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(size))
	}
	return binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(size))
}

func xor(data, key []byte) []byte {
	for i := range data {
		data[i] ^= key[i%len(key)]
	}
	return data
}

// closing is the payload of a Close frame.
func closing(code uint16, reason string) string {
	return string(binary.BigEndian.AppendUint16(nil, code)) + reason
}

func message(binary bool, text string) string {
	return fmt.Sprintf("message %v %d %x\n", binary, len(text), crc32.ChecksumIEEE([]byte(text)))
}

// readFrames is what Eve's parser makes of the parts of an input.
func readFrames(t testing.TB, p *ir.Program, from string, parts ...string) string {
	t.Helper()
	args := []string{from}
	for _, part := range parts {
		args = append(args, hex.EncodeToString([]byte(part)))
	}
	return read(t, p, args...)
}

// framesFromClients are inputs of a server with what they are: the ideas of the cases of Autobahn's
// test suite, by its numbers, and some more.
var framesFromClients = []struct{ name, input, want string }{
	{"1 empty", masked(last|opText, ""), message(false, "")},
	{"1 text", masked(last|opText, "hello"), message(false, "hello")},
	{"1 125", masked(last|opText, strings.Repeat("*", 125)),
		message(false, strings.Repeat("*", 125))},
	{"1 126", masked(last|opBinary, strings.Repeat("\xfe", 126)),
		message(true, strings.Repeat("\xfe", 126))},
	{"1 65535", masked(last|opBinary, strings.Repeat("\xfe", 65535)),
		message(true, strings.Repeat("\xfe", 65535))},
	{"1 65536", masked(last|opText, strings.Repeat("*", 65536)),
		message(false, strings.Repeat("*", 65536))},
	{"2 ping", masked(last|opPing, ""), "ping \n"},
	{"2 ping of 125", masked(last|opPing, strings.Repeat("\xfe", 125)),
		"ping " + strings.Repeat("fe", 125) + "\n"},
	{"2 ping of 126", masked(last|opPing, strings.Repeat("\xfe", 126)),
		"failed 1002 a control frame is too long\n"},
	{"2 pong", masked(last|opPong, "nobody asked"), "pong\n"},
	{"2 ten pings", strings.Repeat(masked(last|opPing, "x"), 10), strings.Repeat("ping 78\n", 10)},
	{"3 bit 1", masked(last|0x40|opText, "x"), "failed 1002 a reserved bit is set\n"},
	{"3 bit 2", masked(last|0x20|opText, "x"), "failed 1002 a reserved bit is set\n"},
	{"3 bit 3", masked(last|0x10|opPing, "x"), "failed 1002 a reserved bit is set\n"},
	{"3 behind a message", masked(last|opText, "a") + masked(last|0x70|opText, "x"),
		message(false, "a") + "failed 1002 a reserved bit is set\n"},
	{"4 opcode 3", masked(last|3, ""), "failed 1002 there is no opcode 3\n"},
	{"4 opcode 7", masked(last|7, "x"), "failed 1002 there is no opcode 7\n"},
	{"4 opcode 11", masked(last|11, ""), "failed 1002 there is no opcode 11\n"},
	{"4 opcode 15", masked(last|15, ""), "failed 1002 there is no opcode 15\n"},
	{"5 ping in fragments", masked(opPing, "a") + masked(last|opRest, "b"),
		"failed 1002 a control frame is in fragments\n"},
	{"5 two fragments", masked(opText, "a") + masked(last|opRest, "b"), message(false, "ab")},
	{"5 empty fragments", masked(opText, "") + masked(opRest, "") + masked(last|opRest, ""),
		message(false, "")},
	{"5 ping between", masked(opText, "a") + masked(last|opPing, "p") + masked(last|opRest, "b"),
		"ping 70\n" + message(false, "ab")},
	{"5 a fragment of nothing", masked(last|opRest, "x"), "failed 1002 a fragment of no message\n"},
	{"5 behind the last", masked(last|opText, "a") + masked(opRest, "b"),
		message(false, "a") + "failed 1002 a fragment of no message\n"},
	{"5 a message inside", masked(opText, "a") + masked(last|opText, "b"),
		"failed 1002 a message inside another one\n"},
	{"6 text", masked(last|opText, "\u03ba\u1f79\u03c3\u03bc\u03b5"),
		message(false, "\u03ba\u1f79\u03c3\u03bc\u03b5")},
	{"6 between fragments", masked(opText, "\xce") + masked(last|opRest, "\xba"),
		message(false, "\u03ba")},
	{"6 at once", masked(opText, "\xed\xa0"), "failed 1007 the text is not UTF-8\n"},
	{"6 surrogate", masked(last|opText, "a\xed\xa0\x80b"), "failed 1007 the text is not UTF-8\n"},
	{"6 too long a form", masked(last|opText, "\xc0\xaf"), "failed 1007 the text is not UTF-8\n"},
	{"6 above the last", masked(last|opText, "\xf4\x90\x80\x80"),
		"failed 1007 the text is not UTF-8\n"},
	{"6 cut off", masked(last|opText, "a\xce"), "failed 1007 the text ends inside a character\n"},
	{"6 bytes need not be", masked(last|opBinary, "\xff\xfe"), message(true, "\xff\xfe")},
	{"7 close", masked(last|opClose, ""), "close 1005 \n"},
	{"7 normal", masked(last|opClose, closing(1000, "bye")), "close 1000 bye\n"},
	{"7 own", masked(last|opClose, closing(4999, "")), "close 4999 \n"},
	{"7 longest", masked(last|opClose, closing(1001, strings.Repeat("*", 123))),
		"close 1001 " + strings.Repeat("*", 123) + "\n"},
	{"7 too long", masked(last|opClose, closing(1000, strings.Repeat("*", 124))),
		"failed 1002 a control frame is too long\n"},
	{"7 one byte", masked(last|opClose, "\x03"), "failed 1002 a status has one byte\n"},
	{"7 reason", masked(last|opClose, closing(1000, "\xce")),
		"failed 1007 the reason is not UTF-8\n"},
	{"7 status 0", masked(last|opClose, closing(0, "")), "failed 1002 there is no status 0\n"},
	{"7 status 999", masked(last|opClose, closing(999, "")),
		"failed 1002 there is no status 999\n"},
	{"7 status 1004", masked(last|opClose, closing(1004, "")),
		"failed 1002 there is no status 1004\n"},
	{"7 status 1005", masked(last|opClose, closing(1005, "")),
		"failed 1002 there is no status 1005\n"},
	{"7 status 1006", masked(last|opClose, closing(1006, "")),
		"failed 1002 there is no status 1006\n"},
	{"7 status 1015", masked(last|opClose, closing(1015, "")),
		"failed 1002 there is no status 1015\n"},
	{"7 status 2999", masked(last|opClose, closing(2999, "")),
		"failed 1002 there is no status 2999\n"},
	{"7 status 5000", masked(last|opClose, closing(5000, "")),
		"failed 1002 there is no status 5000\n"},
	{"7 behind close", masked(last|opClose, closing(1000, "")) + masked(last|opText, "x"),
		"close 1000 \n"},
	{"9 too large", "\x82\xff\x00\x00\x00\x00\x00\x01\x11\x71\x00\x00\x00\x00",
		"failed 1009 the message is too large\n"},
	{"9 too large together", masked(opBinary, strings.Repeat("x", 69_999)) +
		masked(last|opRest, "xy"), "failed 1009 the message is too large\n"},
	{"9 huge", "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
		"failed 1009 the message is too large\n"},
	{"negative", "\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"failed 1002 a length has its highest bit set\n"},
	{"5 in two bytes", "\x82\xfe\x00\x05\x00\x00\x00\x00hello",
		"failed 1002 a length has too many bytes\n"},
	{"5 in eight bytes", "\x82\xff\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00hello",
		"failed 1002 a length has too many bytes\n"},
	{"not masked", plain(last|opText, "x"), "failed 1002 a frame of a client is not masked\n"},
	{"masked with nothing", "\x81\x85\x00\x00\x00\x00hello", message(false, "hello")},
	{"half a head", "\x81", "begun\n"},
	{"half a key", "\x81\x85\x00\x00", "begun\n"},
	{"half a payload", "\x81\x85\x00\x00\x00\x00hel", "begun\n"},
	{"half a message", masked(opText, "hello"), "begun\n"},
}

// Frames in all forms, in one part and byte by byte.
func TestFrames(t *testing.T) {
	t.Parallel()
	p := interpreted(t, "frames.eve", framesProgram)
	for _, c := range framesFromClients {
		if got := readFrames(t, p, "client", c.input); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, head(got), head(c.want))
		}
		if len(c.input) > 1000 {
			continue // byte by byte it takes long
		}
		var parts []string
		for i := range len(c.input) {
			parts = append(parts, c.input[i:i+1])
		}
		if got := readFrames(t, p, "client", parts...); got != c.want {
			t.Errorf("%s, byte by byte: got %q, want %q", c.name, head(got), head(c.want))
		}
	}
	for input, want := range map[string]string{
		plain(last|opText, "hello"):    message(false, "hello"),
		masked(last|opText, "hello"):   "failed 1002 a frame of a server is masked\n",
		plain(last|opPing, "\x00\xff"): "ping 00ff\n",
	} {
		if got := readFrames(t, p, "server", input); got != want {
			t.Errorf("from a server, %q: got %q, want %q", input, got, want)
		}
	}
}

// If both sides have agreed to pack, the first frame of a message may say that it is packed. Then
// neither its limit nor its text is judged yet.
func TestFramesPacked(t *testing.T) {
	t.Parallel()
	p := interpreted(t, "frames.eve", framesProgram)
	const fault = "failed 1002 a reserved bit is set\n"
	for _, c := range []struct{ name, input, want string }{
		{"plain", masked(last|opText, "x"), message(false, "x")},
		{"packed", masked(last|opPacked|opText, "\xce"), "packed false ce\n"},
		{"binary", masked(last|opPacked|opBinary, ""), "packed true \n"},
		{"in fragments", masked(opPacked|opText, "a") + masked(last|opPing, "p") +
			masked(last|opRest, "\xff"), "ping 70\npacked false 61ff\n"},
		{"one behind the other", masked(last|opPacked|opText, "a") + masked(last|opText, "b"),
			"packed false 61\n" + message(false, "b")},
		{"a second fragment", masked(opPacked|opText, "a") + masked(last|opPacked|opRest, "b"),
			fault},
		{"a fragment of a plain one", masked(opText, "a") + masked(last|opPacked|opRest, "b"),
			fault},
		{"a control frame", masked(last|opPacked|opPing, ""), fault},
		{"the end", masked(last|opPacked|opClose, ""), fault},
		{"other bits", masked(last|0x20|opText, ""), fault},
		{"two bits", masked(last|opPacked|0x20|opText, ""), fault},
		{"larger than it is unpacked", masked(last|opPacked|opBinary,
			strings.Repeat("x", largestMessage+100)), "packed true " +
			strings.Repeat("78", largestMessage+100) + "\n"},
		{"too large", masked(last|opPacked|opBinary, strings.Repeat("x", largestMessage*9/8)),
			"failed 1009 the message is too large\n"},
	} {
		if got := readFrames(t, p, "packs", c.input); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, head(got), head(c.want))
		}
	}
}

// A reader is a second parser of frames, which has the whole input from the start.
type frameReader struct {
	rest    string
	masked  bool
	packs   bool // messages may be packed
	packed  bool // the message under way is
	kind    byte // the opcode that began the message under way
	message string
}

// next returns the next message or control frame in the form of Eve's program, without reasons. It
// is empty at the end of the input.
func (r *frameReader) next() string {
	for {
		first, payload, whole, fault := r.frame()
		if fault != "" || !whole && payload == "" {
			return fault
		}
		op := first & 0x0f
		switch {
		case op >= opClose && !whole:
			return ""
		case op == opPing:
			return fmt.Sprintf("ping %x\n", payload)
		case op == opPong:
			return "pong\n"
		case op == opClose:
			r.rest = ""
			return closeOf(payload)
		case op != opRest:
			r.kind = op
			r.packed = first&opPacked != 0
		}
		r.message += payload
		if r.kind == opText && !r.packed && !startsText(r.message) {
			return "failed 1007"
		}
		if !whole {
			return ""
		}
		if first&last == 0 {
			continue
		}
		kind, text := r.kind, r.message
		r.kind, r.message = 0, ""
		if r.packed {
			return fmt.Sprintf("packed %v %x\n", kind == opBinary, text)
		}
		if kind == opText && !utf8.ValidString(text) {
			return "failed 1007"
		}
		return message(kind == opBinary, text)
	}
}

// frame cuts the next frame off. It may be one whose payload is not whole.
func (r *frameReader) frame() (first byte, payload string, whole bool, fault string) {
	if len(r.rest) < 2 {
		return 0, "", false, ""
	}
	first, second := r.rest[0], r.rest[1]
	op, size, at := first&0x0f, uint64(second&0x7f), 2
	control := op >= opClose
	packed := r.packs && first&0x70 == opPacked && (op == opText || op == opBinary)
	if first&0x70 != 0 && !packed || (second >= 0x80) != r.masked || op > 10 || op > 2 && op < 8 ||
		control && (first&last == 0 || size > 125) ||
		!control && (op == opRest) != (r.kind != 0) {
		return 0, "", false, "failed 1002"
	}
	more := map[uint64]int{126: 2, 127: 8}[size]
	end := at + more
	if r.masked {
		end += 4
	}
	if len(r.rest) < end {
		return 0, "", false, ""
	}
	if more > 0 {
		size = 0
		for _, b := range []byte(r.rest[at : at+more]) {
			size = size<<8 | uint64(b)
		}
		if size > 1<<63-1 || size < map[int]uint64{2: 126, 8: 1 << 16}[more] {
			return 0, "", false, "failed 1002"
		}
	}
	most := largestMessage
	if packed || op == opRest && r.packed {
		most += most/16 + 64
	}
	if !control && size > uint64(most-len(r.message)) {
		return 0, "", false, "failed 1009"
	}
	key := []byte(r.rest[at+more : end])
	r.rest = r.rest[end:]
	n := int(min(size, uint64(len(r.rest))))
	data := []byte(r.rest[:n])
	r.rest = r.rest[n:]
	if r.masked {
		data = xor(data, key)
	}
	if !control && op != opRest {
		r.kind = op
	}
	return first, string(data), uint64(n) == size, ""
}

func closeOf(payload string) string {
	switch {
	case payload == "":
		return "close 1005"
	case len(payload) == 1:
		return "failed 1002"
	}
	code := int(payload[0])<<8 | int(payload[1])
	registered := code >= 1000 && code < 1015 && !slices.Contains([]int{1004, 1005, 1006}, code)
	switch {
	case !registered && (code < 3000 || code > 4999):
		return "failed 1002"
	case !utf8.ValidString(payload[2:]):
		return "failed 1007"
	}
	return fmt.Sprint("close ", code)
}

// startsText says whether a text of UTF-8 may begin so.
func startsText(text string) bool {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return !utf8.FullRuneInString(text[i:])
		}
	}
	return true
}

// Any input is read as the second parser reads it, in one part and in two.
func FuzzFrames(f *testing.F) {
	p := interpreted(f, "frames.eve", framesProgram)
	for i, c := range framesFromClients {
		if len(c.input) < 300 {
			f.Add(c.input, i%7, true)
		}
	}
	f.Add(plain(opText, "\xe2\x82")+plain(last|opRest, "\xac"), 3, false)
	f.Add(masked(opPacked|opText, "\xe2\x82")+masked(last|opRest, "\xac"), -1, true)
	f.Fuzz(func(t *testing.T, input string, cut int, isClient bool) {
		if len(input) > 2000 {
			return // it only takes time
		}
		from := map[bool]string{true: "client", false: "server"}[isClient]
		packs := isClient && cut < 0
		if packs {
			from = "packs"
		}
		whole := readFrames(t, p, from, input)
		at := min(max(cut, 0), len(input))
		if parts := readFrames(t, p, from, input[:at], input[at:]); parts != whole {
			t.Fatalf("%q: in one part it is %q, cut at %d %q", input, whole, at, parts)
		}
		lines := slices.Collect(strings.Lines(strings.TrimSuffix(whole, "begun\n")))
		r := frameReader{rest: input, masked: isClient, packs: packs}
		for _, line := range lines {
			if want := r.next(); want == "" || !strings.HasPrefix(line, want) {
				t.Fatalf("%q: got %q, want %q of %q", input, line, want, whole)
			}
			if !strings.HasPrefix(line, "message") && !strings.HasPrefix(line, "p") {
				return // the last one: not ping, pong or packed
			}
		}
		if more := r.next(); more != "" {
			t.Fatalf("%q: behind %q comes %q", input, whole, more)
		}
	})
}
