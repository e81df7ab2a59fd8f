package hall

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestAStateOfAnOlderVersion: testdata/before-clocks.json was saved by a version that kept no clock
// of each server, and that had followed a clock an hour ahead. Nothing of it is lost, the time of
// the log is corrected, and no server is declared lost.
func TestAStateOfAnOlderVersion(t *testing.T) {
	h := upgraded(t, "before-clocks")
	right := h.now - time.Hour.Milliseconds()
	for n := range int64(5) {
		right += 4000
		for _, name := range []string{"a", "b"} {
			p := h.servers[name]
			if !h.Begin(Batch{Server: name, Run: p.run, Number: p.number + 1, Time: right}) {
				t.Fatalf("a batch of %s is passed over", name)
			}
		}
		if h.now != right {
			t.Errorf("after %d batches of each the log is %v ahead", n+1,
				time.Duration(h.now-right)*time.Millisecond)
		}
		if silent := h.Silent(10 * time.Second); len(silent) > 0 {
			t.Errorf("given up: %s", silent[0].Data)
		}
	}
}

// upgraded loads a state of an older version, and compares what is saved of it with the file
// NAME-upgraded.json.
func upgraded(t *testing.T, name string) *Hall {
	t.Helper()
	old, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Server: "a", Name: "chat", Text: &memory{}}
	h, err := Load(config, old)
	if err != nil {
		t.Fatal(err)
	}
	state, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, append(state, '\n'), "", " "); err != nil {
		t.Fatal(err)
	}
	golden := "testdata/" + name + "-upgraded.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("it becomes\n%s\nwant %s, %v\n`go test ./papaya/hall -update` rewrites it",
			got.Bytes(), golden, err)
	}
	h = loaded(t, config, state)
	again, err := h.Save()
	if err != nil || !bytes.Equal(again, state) {
		t.Errorf("saved again it is\n%s\n%v", again, err)
	}
	return h
}

func loaded(t *testing.T, config Config, state []byte) *Hall {
	t.Helper()
	h, err := Load(config, state)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// replayed loads a state of an older version, and applies the batches of a format that follow it.
// The text must become what that version has written.
func replayed(t *testing.T, state, batches string, format byte) (h *Hall, text []byte) {
	t.Helper()
	h = upgraded(t, state)
	all, err := os.ReadFile("testdata/" + batches + "-batches.hex")
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile("testdata/" + batches + ".log"); err != nil {
		t.Fatal(err)
	}
	want, got := string(text[h.At():]), ""
	for line := range strings.Lines(string(all)) {
		data, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		b, rest, err := ReadBatch(data)
		if err != nil || b.Format != format || !h.Begin(b) {
			t.Fatalf("%s: %+v, %v", line, b, err)
		}
		for len(rest) > 0 {
			var e Entry
			if e, rest, err = ReadEntry(rest); err != nil {
				t.Fatal(err)
			}
			h.Apply(e, nil, "")
		}
		_, lines := h.Lines()
		got += string(lines)
		state, err := h.Save()
		if err != nil {
			t.Fatal(err)
		}
		h = loaded(t, h.config, state) // it may be killed again at any time
	}
	if got != want {
		t.Errorf("the text becomes\n%s\nwant\n%s", got, want)
	}
	return h, text
}

// TestBatchesOfFormat2: the version before has saved testdata/format3.json, and has written the
// batches of format2-batches.hex after it. It wrote no tags into the text, knew only one of the
// lists of a room, and a founder's room ended with its last member. The text becomes the same by
// those rules. From then on today's hold.
func TestBatchesOfFormat2(t *testing.T) {
	h, text := replayed(t, "format3", "format2", bareFormat)
	state, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}, now: h.now}
	s := &node{name: "a", run: 2, text: memory{bytes.Clone(text)}}
	s.hall = loaded(t, p.config(s), state)
	p.halls["a"] = s
	p.log(s, Entry{}, nil) // the run of the older version has ended
	script, err := os.ReadFile("testdata/upgrade2.script")
	if err != nil {
		t.Fatal(err)
	}
	p.play("testdata/upgrade2.script", string(script))
}

// TestBatchesOfTheOlderFormat: the version before sessions has saved testdata/format2.json on a
// server, has written the batches of format1-batches.hex after it, and was killed. The text becomes
// what that version has written, byte for byte. Then the accounts come, by today's rules.
func TestBatchesOfTheOlderFormat(t *testing.T) {
	h, text := replayed(t, "format2", "format1", apartFormat)
	state, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}, now: h.now}
	for _, name := range []string{"a", "b"} {
		s := &node{name: name, run: 2, text: memory{bytes.Clone(text)}}
		s.hall = loaded(t, p.config(s), state)
		p.halls[name] = s
	}
	for _, name := range []string{"a", "b"} { // the runs of the older version have ended
		p.log(p.halls[name], Entry{}, nil)
	}
	script, err := os.ReadFile("testdata/upgrade.script")
	if err != nil {
		t.Fatal(err)
	}
	p.play("testdata/upgrade.script", string(script))
}

// TestAStateOfANewerVersion: a state with an unknown key at any level is refused, and so is another
// format. A program that ignored the key would save the state without it.
func TestAStateOfANewerVersion(t *testing.T) {
	state, err := os.ReadFile("testdata/before-clocks.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"a key": {`"At"`, `"Later":1,"At"`,
			`newer version: json: unknown field "Later"`},
		"a key of a server": {`"Run"`, `"Later":1,"Run"`,
			`newer version: json: unknown field "Later"`},
		"a key of a room": {`"Created"`, `"Later":{},"Created"`,
			`newer version: json: unknown field "Later"`},
		"the next format": {`"Format":1`, `"Format":5,"Later":1`,
			"the format 5, and this version reads 1 to 4"},
		"no format": {`"Format":1,`, "", "the format 0, and this version reads 1 to 4"},
	} {
		other := bytes.Replace(state, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(other, state) {
			t.Fatalf("%s: testdata/before-clocks.json has no %s", name, c.old)
		}
		if _, err := Load(Config{Server: "a", Name: "chat", Text: &memory{}}, other); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, _, err := ReadBatch([]byte{format + 1, 0, 0, 0, 0}); err != ErrNewer {
		t.Errorf("a batch of the next format: %v, want %v", err, ErrNewer)
	}
}

// FuzzLoad: a damaged state is refused, or what it says can be saved again.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"before-clocks", "format2", "format3", "before-clocks-upgraded",
		"format2-upgraded", "format3-upgraded"} {
		state, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state)
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		h, err := Load(Config{Server: "a", Name: "chat", Text: &memory{}}, state)
		if err != nil {
			return
		}
		if _, err := h.Save(); err != nil {
			t.Error(err)
		}
	})
}
