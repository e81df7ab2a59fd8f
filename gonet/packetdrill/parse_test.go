package packetdrill

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"interleave/gonet/wire"
)

// TestParse reads each form of a statement.
func TestParse(t *testing.T) {
	s, err := Parse(`// A comment.
--tolerance_usecs=5000 // another
--local_ip=192.168.0.1
` + "`first`" + `
0 < [ect1] SEW 5:10(5) win 7 urg 3 <mss 1000,nop,wscale 2,sackOK,TS val 1 ecr 2,eol>
+.5 > P. 1:1(0) ack 9 <sack 1:2 4:8>
+1.5~+2 > (tos 0x8) - 1:1(0) <...>
.1~.2 > icmp unreachable frag_needed mtu 900 [1:11(10)]
* > 1 > 2 .3 1:1(0)
/* More
   than a line. */ +0...0.25 call(1, 0xf, WORD, "text" "more", [1],
   {a=2, f(3)=[]}, A|B) = -1 EX (no way)
+0 ` + "`second`" + `
+0 %{ code }%
` + "`last`")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Options) != 2 || s.Options[0] != (Option{2, "tolerance_usecs", "5000"}) ||
		s.Init != "first" || s.Cleanup != "last" {
		t.Errorf("options %v, init %q, cleanup %q", s.Options, s.Init, s.Cleanup)
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	number := func(n int64) Value { return Value{Kind: Number, Number: n} }
	name := func(w string) Value { return Value{Kind: Word, Text: w} }
	want := []Event{
		{5, Timing{}, &Segment{ECN: "ect1", Len: 5, HasWindow: true, Header: wire.TCP{Seq: 5,
			Flags: wire.SYN | wire.ECE | wire.CWR, Window: 7, Urgent: 3,
			Options: wire.TCPOptions{MSS: 1000, HasWindowScale: true, WindowScale: 2,
				SACKPermitted: true, HasTimestamp: true, TSVal: 1, TSEcr: 2}}}},
		{6, Timing{Relative, ms(500), 0}, &Segment{Out: true, Header: wire.TCP{Seq: 1, Ack: 9,
			Flags: wire.PSH | wire.ACK, Options: wire.TCPOptions{SACKCount: 2,
				SACK: [4]wire.SACKBlock{{Left: 1, Right: 2}, {Left: 4, Right: 8}}}}}},
		{7, Timing{RelativeRange, ms(1500), ms(2000)}, &Segment{Out: true,
			Header: wire.TCP{Seq: 1}, AnyOptions: true, Foreign: []string{"tos"}}},
		{8, Timing{AbsoluteRange, ms(100), ms(200)}, &ICMP{true, "unreachable", "frag_needed", 900,
			1}},
		{9, Timing{Kind: AnyTime}, &Segment{Out: true, Header: wire.TCP{Seq: 1, Flags: wire.ACK},
			Foreign: []string{"ports", "AccECN"}}},
		{11, Timing{Kind: Relative}, &Call{"call", []Value{number(1), number(15), name("WORD"),
			{Kind: Text, Text: "textmore"}, {Kind: List, List: []Value{number(1)}},
			{Kind: Record, List: []Value{{Kind: Named, Text: "a", List: []Value{number(2)}},
				{Kind: Named, Text: "f", List: []Value{{Kind: List}}}}},
			{Kind: Either, List: []Value{name("A"), name("B")}}}, number(-1), "EX", true, ms(250)}},
		{13, Timing{Kind: Relative}, Command("second")},
		{14, Timing{Kind: Relative}, Code(" code ")},
	}
	if len(s.Events) != len(want) {
		t.Fatalf("%d events, want %d", len(s.Events), len(want))
	}
	for i, e := range s.Events {
		if !reflect.DeepEqual(e, want[i]) {
			t.Errorf("event %d is %+v %+v, want %+v %+v", i, e, e.Action, want[i], want[i].Action)
		}
	}
}

// TestParseErrors has texts that are no scripts.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"0", "line 1: expected a segment, a call, a command or code, found the end"},
		{"\n\nx", "line 3: expected a time, found x"},
		{"-1 close(3) = 0", "line 1: -1 is not a time"},
		{"1e9 close(3) = 0", "expected a time, found 1e9"},
		{"2000000 close(3) = 0", "is not a time"},
		{"+.2~+.1 > . 1:1(0)", "ends before it begins"},
		{"+.1~.2 > . 1:1(0)", "expected +"},
		{"* < . 1:1(0)", "only a segment that is sent"},
		{"+.1~+.2 close(3) = 0", "only a segment that is sent"},
		{"0 < . 1:3(1)", "1:3 are not 1 bytes"},
		{"0 < . 1:70001(70000)", "70000 is not from 0 to 65535"},
		{"0 < . 9999999999:1(0)", "9999999999 is not from"},
		{"0 < . 99999999999999999999:1(0)", "too large a number"},
		{"0 < X 1:1(0)", "X is not a flag"},
		{"0 < = 1:1(0)", "expected flags"},
		{"0 < . 1:1(0) <bad 3>", "bad is no option"},
		{"0 < . 1:1(0) <mss>", "expected a number, found >"},
		{"0 < . 1:1(0) <sack 1:2 1:2 1:2 1:2 1:2>", "no room"},
		{"0 < [what] . 1:1(0)", "what is nothing of the IP header"},
		{"0 < [ce . 1:1(0)", "expected ]"},
		{"0 < udp (5)", "packets of udp are not read"},
		{"0 < encap psp spi 1 . 1:1(0)", "PSP"},
		{"0 close(3 = 0", "expected )"},
		{"0 close(3)", "expected =, found the end"},
		{"0 close(>) = 0", "expected a value"},
		{"0 close(" + strings.Repeat("[", 100), "nested too deeply"},
		{"0 %{ never", "the code has no }%"},
		{"0 `never", "the closing quote is missing"},
		{"0 close(3) = 0\n`a` `b`", "expected the end"},
		{"0 close(3) = 0 /* never", "expected"},
	} {
		_, err := Parse(c.script)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.script, err, c.want)
		}
	}
}

// TestCode evaluates expressions of Python.
func TestCode(t *testing.T) {
	vars := map[string]int64{"x": 5, "y": 6}
	for _, c := range []struct {
		text string
		want int64
	}{
		{"1 + 2 * 3", 7}, {"(1 + 2) * 3", 9}, {"-2 + 3", 1}, {"7 // 2 + 7 % 2", 4}, {"0x10", 16},
		{"x == 5", 1}, {"x != 5", 0}, {"4 < x < y", 1}, {"4 < x < 5", 0}, {"x <= 5 >= x", 1},
		{"x & 4 | 8", 12}, {"1 << 4 >> 1", 8}, {"0 or x", 5}, {"x or 1", 5}, {"0 and x", 0},
		{"x and y", 6}, {"x == 5 and y > 6 or 9", 9}, {"6 - 2 - 1", 3}, {"(x\n+1)", 6},
	} {
		s, err := parseCode(Code("v = " + c.text))
		if err != nil || len(s) != 1 {
			t.Errorf("%s: %d statements, %v", c.text, len(s), err)
			continue
		}
		if got, err := s[0].value.eval(vars); got != c.want || err != nil {
			t.Errorf("%s is %d, %v, want %d", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"import os", "v = 'a'", "v = (1", "v = 1 2", "v = 1 < ", "v = $",
		"if x: y", "assert", "v = 99999999999999999999", "v = " + strings.Repeat("(", 500),
		"x.y = 1"} {
		if s, err := parseCode(Code(text)); err == nil {
			t.Errorf("%.20s: %d statements, want an error", text, len(s))
		}
	}
	for _, text := range []string{"v = z", "v = 1 // 0", "v = 1 << 64", "v = -1 % 2"} {
		s, err := parseCode(Code(text))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s[0].value.eval(vars); err == nil {
			t.Errorf("%s is %d, want an error", text, v)
		}
	}
}
