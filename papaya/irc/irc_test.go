package irc

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line string
		want Message
		err  error
	}{
		{"PING", Message{Command: "PING"}, nil},
		{"privmsg #tea :the kettle is on", Message{Command: "PRIVMSG",
			Params: []string{"#tea", "the kettle is on"}}, nil},
		{"  PRIVMSG   #tea   on", Message{Command: "PRIVMSG", Params: []string{"#tea", "on"}}, nil},
		{":ann!a@h  TOPIC #tea :", Message{Source: "ann!a@h", Command: "TOPIC",
			Params: []string{"#tea", ""}}, nil},
		{`@label=1;+x=a\:b\s\\;y PING ::`,
			Message{Tags: map[string]string{"label": "1", "+x": `a;b \`, "y": ""}, Command: "PING",
				Params: []string{":"}}, nil},
		{"A 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
			Message{Command: "A", Params: strings.Split("1 2 3 4 5 6 7 8 9 10 11 12 13 14,15 16",
				" ")}, nil},
		{"", Message{}, ErrEmpty},
		{"@a=b", Message{Tags: map[string]string{"a": "b"}}, ErrEmpty},
		{":only", Message{Source: "only"}, ErrEmpty},
		{"a\x00b", Message{}, ErrNUL},
	} {
		if c.want.Command == "A" {
			c.want.Params = append(strings.Split("1 2 3 4 5 6 7 8 9 10 11 12 13 14", " "), "15 16")
		}
		got, err := Parse(c.line)
		if err != c.err || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Parse(%q) = %#v, %v; want %#v, %v", c.line, got, err, c.want, c.err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name       string
		nick, room bool
	}{
		{"ann", true, false}, {"[a]1-", true, false}, {"1a", false, false}, {"-a", false, false},
		{"", false, false},
		{strings.Repeat("a", 30), true, false}, {strings.Repeat("a", 31), false, false},
		{"å", false, false},
		{"#tea", false, true}, {"#", false, false}, {"#å:", false, false}, {"#å", false, true},
		{"#" + strings.Repeat("x", 49), false, true}, {"#" + strings.Repeat("x", 50), false, false},
		{"#a\x01", false, false},
	} {
		if nick, room := IsNick(c.name), IsRoom(c.name); nick != c.nick || room != c.room {
			t.Errorf("%q: nick %v, room %v; want %v, %v", c.name, nick, room, c.nick, c.room)
		}
	}
}

func TestSplitStatus(t *testing.T) {
	for _, c := range [][3]string{{"@#tea", "@", "#tea"}, {"+#tea", "+", "#tea"},
		{"#tea", "", "#tea"}, {"ann", "", "ann"}, {"@ann", "", "@ann"}, {"@", "", "@"},
		{"", "", ""}, {"@+#tea", "", "@+#tea"}, {"%#tea", "", "%#tea"}} {
		if status, name := SplitStatus(c[0]); status != c[1] || name != c[2] ||
			RoomOf(c[0]) != c[2] {
			t.Errorf("%q: %q, %q; want %q, %q", c[0], status, name, c[1], c[2])
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range [][3]string{{"A[~^", ASCII, "a[~^"}, {"A[~^", RFC1459, "a{~~"},
		{"A[~^", RFC1459Strict, "a{~^"}} {
		if got := Fold(c[0], c[1]); got != c[2] {
			t.Errorf("Fold(%q, %s) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestFullMask(t *testing.T) {
	for _, c := range [][2]string{{"ann", "ann!*@*"}, {"a@b", "a!*@b"}, {"a!b", "a!b@*"},
		{"*.example", "*!*@*.example"}, {"", "*!*@*"}, {"!@", "*!*@*"}} {
		if got := FullMask(c[0]); got != c[1] {
			t.Errorf("FullMask(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		mask, name string
		want       bool
	}{
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*c", "abc", true},
		{"a*c", "ab", false}, {"?", "", false},
		{"*!*@127.0.0.1", "Ann!a@127.0.0.1", true}, {"ANN!*@*", "ann!a@h", true},
		{"*a*b*", "xxaxxbxx", true}, {"*ab", "aab", true},
	} {
		if got := Match(c.mask, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.mask, c.name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("@a=b;c :ann!a@h PRIVMSG #tea :the kettle")
	f.Add(": :")
	f.Add("@ x")
	f.Add("x " + strings.Repeat("1 ", 20))
	f.Fuzz(func(t *testing.T, line string) {
		m, err := Parse(line)
		if err != nil {
			return
		}
		if len(m.Params) > MaxParams {
			t.Fatalf("%d parameters", len(m.Params))
		}
		if strings.HasPrefix(m.Command, ":") || strings.HasPrefix(m.Command, "@") {
			return // a command that cannot be written without a source
		}
		again, err := Parse(m.String())
		if len(m.Tags) == 0 {
			m.Tags = nil
		}
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%q: %#v, then %q: %#v, %v", line, m, m.String(), again, err)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("**", "")
	f.Fuzz(func(t *testing.T, mask, name string) {
		if len(mask) > 64 || len(name) > 256 {
			return
		}
		text := regexp.QuoteMeta(Lower(mask))
		text = strings.NewReplacer(`\*`, "(?s:.*)", `\?`, "(?s:.)").Replace(text)
		model, err := regexp.Compile("^(?:" + text + ")$")
		if err != nil {
			return
		}
		for _, s := range []string{mask, name} { // regexp matches runes, not bytes
			for i := range len(s) {
				if s[i] >= 0x80 {
					return
				}
			}
		}
		if want := model.MatchString(Lower(name)); Match(mask, name) != want {
			t.Fatalf("Match(%q, %q) = %v", mask, name, !want)
		}
	})
}

// TestNoParameters: Param and Last return nothing for a line without parameters.
func TestNoParameters(t *testing.T) {
	m, err := Parse("QUIT")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Last() + m.Param(0) + m.Param(-1); got != "" {
		t.Errorf("got %q of a line without parameters", got)
	}
}

// TestFormatted: package fmt prints a Message as its line, also a value of it.
func TestFormatted(t *testing.T) {
	m := Message{Tags: map[string]string{"+a": "b c"}, Source: "ann", Command: "PRIVMSG",
		Params: []string{"#tea", "hello all"}}
	const want = `@+a=b\sc :ann PRIVMSG #tea :hello all`
	if got := fmt.Sprintf("%s|%s", m, &m); got != want+"|"+want {
		t.Errorf("%s", got)
	}
	if got := string(m.Append([]byte("> "))); got != "> "+want {
		t.Errorf("%s", got)
	}
}
