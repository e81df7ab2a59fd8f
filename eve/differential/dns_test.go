package differential

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

// replies is a program that reads replies of DNS servers: its arguments, in hexadecimal digits.
// Addresses that begin with = it turns around.
const replies = `import io.dns
import util.hex

main: [+stdout] () void:
    for (word in process.args()):
        if word.starts_with("="):
            print("%v\n", dns.reverse(word[1..word.size()]))
        else:
            match dns.read(hex.decode(word)):
                error(e): print("error %d %s\n", e.code(), e)
                ok(all):
                    for (r in all):
                        print("%s|%d|%v|%s|%s|%d,%d,%d,%d;", r.name, r.kind, r.life, r.target,
                            r.text.bytes().hex(), r.preference, r.priority, r.weight, r.port)
                    print("\n")
`

// someReplies are whole: an alias and two exchanges, texts, a service, addresses, a name that is
// not there, a jump to itself.
var someReplies = []string{
	"0001818000010003000000000377777707657861" + "6d706c6500000f0001" +
		"c00c0005000100000001000" + "2c010" + "c010000f000100000001000400" + "0ac010" +
		"c010000f0001000000010006001401" + "78c010",
	"00018180000100010000000001780000100001" + "c00c001000010000003c00050161026262",
	"00018180000100010000000001780000210001" + "c00c002100010000003c00090001000200030179" + "00",
	"000181800001000100000000017800001c0001" + "c00c001c00010000003c0010" +
		"20010db8000000000000000000000001",
	"00018180000100010000000001780000010001" + "c00c000100010000003c0004c0000201",
	"00018183000100000000000001780000010001",
	"00018180000100010000000001780000010001" + "c013000100010000003c0004c0000201",
}

func TestReplies(t *testing.T) {
	l := library{text: replies, p: trial.Check(t, "replies.eve", replies)}
	for _, c := range []struct{ word, want string }{
		{someReplies[0], "example|15|1s|example||10,0,0,0;example|15|1s|x.example||20,0,0,0;"},
		{someReplies[1], "x|16|1m0s||616262|0,0,0,0;"},
		{someReplies[2], "x|33|1m0s|y||0,1,2,3;"},
		{someReplies[3], "x|28|1m0s||" + hex.EncodeToString([]byte("2001:db8::1")) + "|0,0,0,0;"},
		{someReplies[4], "x|1|1m0s||" + hex.EncodeToString([]byte("192.0.2.1")) + "|0,0,0,0;"},
		{someReplies[5], "error 3 x: there is no such name (NXDOMAIN)"},
		{someReplies[6], "error 74 the reply is malformed at byte 19: a name leads forward"},
		{"", "error 74 the reply is malformed at byte 2: it ends early"},
		{strings.Repeat("00", 12), "error 74 the reply is malformed at byte 2: it is a question"},
		{"0001818000000000" + "00000000",
			"error 74 the reply is malformed at byte 4: it has no question"},
		{"0001818000020000" + "00000000",
			"error 74 the reply is malformed at byte 4: it has several questions"},
		{"=192.0.2.1", "1.2.0.192.in-addr.arpa"},
		{"=2001:db8::1", "1" + strings.Repeat(".0", 23) + ".8.b.d.0.1.0.0.2.ip6.arpa"},
		{"=::", strings.Repeat("0.", 32) + "ip6.arpa"},
		{"=1:2:3:4:5:6:7:8", "8.0.0.0.7.0.0.0.6.0.0.0.5.0.0.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.ip6.arpa"},
		{"=1.2.3", `"1.2.3" is no address`}, {"=1.2.3.256", `"1.2.3.256" is no address`},
		{"=01.2.3.4", `"01.2.3.4" is no address`}, {"=1:::2", `"1:::2" is no address`},
		{"=1::2::3", `"1::2::3" is no address`}, {"=1:2", `"1:2" is no address`},
		{"=1:2:3:4:5:6:7:8:9", `"1:2:3:4:5:6:7:8:9" is no address`},
		{"=::12345", `"::12345" is no address`}, {"=::g", `"::g" is no address`},
	} {
		if got := l.interpret(1, c.word); got.Out != c.want+"\n" {
			t.Errorf("%s: got %q, want %q", c.word, got.Out, c.want)
		}
	}
}

// Mutants of replies are read in the same way by a compiled program, which touches no memory that
// is not its own.
func TestRepliesMutants(t *testing.T) {
	trial.NeedCompiler(t)
	var texts, words []string
	for _, r := range someReplies {
		texts = append(texts, unhexed(t, r))
	}
	for _, m := range mutants(rand.New(rand.NewPCG(*seed, 3)), texts, 300) {
		words = append(words, hex.EncodeToString([]byte(m)))
	}
	l := library{text: replies, p: trial.Check(t, "replies.eve", replies)}
	want := l.interpret(1, words...)
	for _, o := range []build.Options{{Sanitize: "address"}, {Optimise: true}} {
		exe := trial.Build(t, l.p, emit.Options{Checked: !o.Optimise}, o)
		end := trial.Run(t, exe, 1, words...)
		if d := trial.Difference(replies, want.Out, end.Out); d != "" || end.Status != 0 {
			t.Errorf("%+v: status %d\n%s\n%s", o, end.Status, end.Err, d)
		}
	}
}

func unhexed(t testing.TB, text string) string {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzReplies reads any bytes as a reply: records, or an error with its place.
func FuzzReplies(f *testing.F) {
	for _, r := range someReplies {
		f.Add(unhexed(f, r))
	}
	l := library{text: replies, p: trial.Check(f, "replies.eve", replies)}
	f.Fuzz(func(t *testing.T, m string) {
		if len(m) > 1024 {
			return // it only takes time
		}
		if end := l.interpret(1, hex.EncodeToString([]byte(m))); end.Status != 0 {
			t.Errorf("%x: %+v", m, end)
		}
	})
}
