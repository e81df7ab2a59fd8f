package hall

import (
	"bytes"
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
	old, err := os.ReadFile("testdata/before-clocks.json")
	if err != nil {
		t.Fatal(err)
	}
	h, err := Load(Config{Server: "a", Name: "chat", Text: &memory{}}, old)
	if err != nil {
		t.Fatal(err)
	}
	state, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := without(t, state, "Clock"), without(t, old, "Clock"); !bytes.Equal(got, want) {
		t.Errorf("it is kept as\n%s\nand was\n%s", got, want)
	}
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
		"the next format": {`"Format":1`, `"Format":3,"Later":1`,
			"the format 3, and this version reads 1 to 2"},
		"no format": {`"Format":1,`, "", "the format 0, and this version reads 1 to 2"},
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
}

// without returns a state without its format and without one key of its servers.
func without(t *testing.T, state []byte, key string) []byte {
	var s map[string]any
	if err := json.Unmarshal(state, &s); err != nil {
		t.Fatal(err)
	}
	delete(s, "Format")
	for _, server := range s["Servers"].(map[string]any) {
		delete(server.(map[string]any), key)
	}
	out, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
