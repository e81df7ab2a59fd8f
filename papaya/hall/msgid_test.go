package hall

import (
	"crypto/aes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMsgidDisclosesNothing: msgids have one length, are words of IRC and values of tags without
// escapes, and neither they nor their order tell where the messages are.
func TestMsgidDisclosesNothing(t *testing.T) {
	ids, other := newMsgids(testSecret), newMsgids(Secret{9})
	ids.begin(0)
	other.begin(0)
	form := regexp.MustCompile(`^[0-9a-v]{26}$`)
	seen, rising := map[string]bool{}, 0
	last := ""
	const n = 1000
	for i := range uint64(n) {
		at := i * i * i * 77
		id := string(ids.append(nil, at))
		if got, ok := ids.parse(id); !ok || got != at || !form.MatchString(id) || seen[id] {
			t.Fatalf("the msgid of %d is %q, and that of %d, %v", at, id, got, ok)
		}
		if _, ok := other.parse(id); ok {
			t.Fatalf("another secret takes %s", id)
		}
		if id > last {
			rising++
		}
		seen[id], last = true, id
	}
	if rising < n/3 || rising > 2*n/3 {
		t.Errorf("%d of %d msgids are greater than the one before", rising, n)
	}
}

// TestMadeUpMsgid: a msgid that the server has not given is refused.
func TestMadeUpMsgid(t *testing.T) {
	ids := newMsgids(testSecret)
	ids.begin(100)
	id := string(ids.append(nil, 1000))
	wrong := []string{"", "0" + id, id + "0", id[1:], strings.ToUpper(id), "rs", "+1",
		string(ids.seal(nil, 1, 1000)), string(ids.seal(nil, ofMessage, 99)),
		strings.Repeat("0", msgidLen), strings.Repeat("\n", msgidLen), id[:25] + "\n"}
	last := strings.IndexByte(msgidDigits, id[25]) // of its five bits the last two mean nothing
	for bits := 1; bits < 4; bits++ {
		wrong = append(wrong, id[:25]+msgidDigits[last+bits:][:1])
	}
	for bit := range 8 * aes.BlockSize { // each of its bits
		block, err := msgidCode.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		block[bit/8] ^= 1 << (bit % 8)
		wrong = append(wrong, msgidCode.EncodeToString(block))
	}
	for n := 3; n < len(id); n++ { // each beginning that is no number below 100
		wrong = append(wrong, id[:n])
	}
	for i := range id { // each of its characters
		for _, c := range "0v" {
			if changed := id[:i] + string(c) + id[i+1:]; changed != id {
				wrong = append(wrong, changed)
			}
		}
	}
	for _, w := range wrong {
		if at, ok := ids.parse(w); ok {
			t.Errorf("%q is taken for the msgid of %d", w, at)
		}
	}
}

// TestMsgidsOfTheVersionBefore: a message keeps the msgid that it was given, its place. From the
// first batch of this version on, no place is a msgid.
func TestMsgidsOfTheVersionBefore(t *testing.T) {
	var told []uint64
	h := New(Config{Text: &memory{}, Secret: testSecret,
		MsgidsFrom: func(at uint64) { told = append(told, at) }}, 0)
	u := &user{nick: "ann", source: "ann!ann@host"}
	say := func(number uint64, format byte) string {
		h.Begin(Batch{Server: "a", Run: 1, Number: number, Time: 1e12, Format: format})
		o := h.tell(u, "#tea", speech{command: "PRIVMSG", text: "x"})
		return string(o.appendID(nil))
	}
	one, two := say(1, placeFormat), say(2, placeFormat)
	begin := h.at
	state, err := h.Save() // of the version before
	if err != nil {
		t.Fatal(err)
	}
	if h = loaded(t, h.config, state); len(told) > 0 {
		t.Errorf("it is told of msgids from %v on", told)
	}
	three, four := say(3, 0), say(4, 0)
	if one != "0" || two != string(appendPlace(nil, begin/2)) || len(three) != msgidLen {
		t.Fatalf("the msgids are %s, %s, %s and %s", one, two, three, four)
	}
	for _, again := range []string{"as it is", "loaded"} {
		for id, want := range map[string]uint64{one: 0, two: begin / 2, three: begin,
			four: begin / 2 * 3} {
			at, ok := h.ids.parse(id)
			if !ok || at != want || string(h.ids.append(nil, at)) != id {
				t.Errorf("%s: %s is at %d, %v; want %d", again, id, at, ok, want)
			}
		}
		if at, ok := h.ids.parse(string(appendPlace(nil, begin))); ok {
			t.Errorf("%s: a place is taken for the msgid of %d", again, at)
		}
		state, err := h.Save()
		if err != nil {
			t.Fatal(err)
		}
		h = loaded(t, h.config, state)
	}
	if want := []uint64{begin, begin, begin}; !slices.Equal(told, want) {
		t.Errorf("it is told of msgids from %v on, want %v", told, want)
	}
}

// TestMsgidsOfAnImportedText: nobody has a msgid of a text that was imported, so its places are
// none.
func TestMsgidsOfAnImportedText(t *testing.T) {
	text := memory{lines: []byte("2026-11-18T11:06:50.000Z :ann!ann@host PRIVMSG #tea :one\n")}
	told := uint64(1)
	h := New(Config{Text: &text, Secret: testSecret, MsgidsFrom: func(at uint64) { told = at }},
		uint64(len(text.lines)))
	if at, ok := h.ids.parse("0"); ok || told != 0 {
		t.Errorf("0 is the msgid of %d, and it is told of msgids from %d on", at, told)
	}
	if at, ok := h.ids.parse(h.ids.of(0)); !ok || at != 0 {
		t.Errorf("%s is the msgid of %d, %v", h.ids.of(0), at, ok)
	}
}

// TestNewMsgidIsInNoText: the text, the log and the state have places, so that they do not depend
// on the secret.
func TestNewMsgidIsInNoText(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, l := range []string{"[connect ann]", "ann > NICK ann", "ann > USER ann 0 * :Ann",
		"ann > CAP REQ :message-tags echo-message draft/message-redaction", "ann > JOIN #tea",
		"ann > PRIVMSG #tea :one", "ann > REDACT #tea {one} :why"} {
		p.step(l)
	}
	state, err := p.halls["a"].hall.Save()
	if err != nil {
		t.Fatal(err)
	}
	if all := string(p.halls["a"].text.lines) + string(state); someIDs.MatchString(all) {
		t.Errorf("there is a msgid in\n%s", all)
	}
	if !strings.Contains(string(p.halls["a"].text.lines), " REDACT #tea 0 :why\n") {
		t.Errorf("the text is\n%s", p.halls["a"].text.lines)
	}
}

// TestPingDisclosesNothing: the PING of a client that was sent messages counts its own ones only.
func TestPingDisclosesNothing(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, l := range []string{"[connect ann]", "ann > NICK ann", "ann > USER ann 0 * :Ann",
		"[connect bob]", "bob > NICK bob", "bob > USER bob 0 * :Bob", "ann > JOIN #tea",
		"ann > JOIN #den", "bob > JOIN #tea", "bob > PRIVMSG #tea :one", "[ask]"} {
		p.step(l)
	}
	ann := p.people["ann"]
	if ann.ping != "1" {
		t.Errorf("the first PING is %q", ann.ping)
	}
	p.step("ann > PONG 2")
	if ann.asked == 0 {
		t.Error("another PONG is taken for the answer")
	}
	p.step("[answer ann]")
	p.step("bob > PRIVMSG #tea :two")
	p.step("[ask]")
	if ann.ping != "2" || ann.had == 0 {
		t.Errorf("the second PING is %q, and up to %d was confirmed", ann.ping, ann.had)
	}
}

// FuzzParseMsgid: each msgid that is taken is the one of its message.
func FuzzParseMsgid(f *testing.F) {
	ids := newMsgids(testSecret)
	ids.begin(1000)
	for _, at := range []uint64{0, 35, 999, 1000, 1 << 40, 1<<64 - 1} {
		f.Add(string(ids.append(nil, at)))
	}
	f.Add("00")
	f.Fuzz(func(t *testing.T, id string) {
		if at, ok := ids.parse(id); ok && string(ids.append(nil, at)) != id {
			t.Errorf("%q is taken for %q", id, ids.append(nil, at))
		}
	})
}

func BenchmarkMsgid(b *testing.B) {
	ids := newMsgids(testSecret)
	ids.begin(0)
	id := ids.append(nil, 1<<30)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		at := uint64(1 << 30)
		for b.Loop() {
			id = ids.append(id[:0], at)
			at += 80
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		text := string(id)
		for b.Loop() {
			ids.parse(text)
		}
	})
}
