package findings

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func encoded(t testing.TB, f *Figures) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFiguresAreReadAsWritten(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	text := encoded(t, f)
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if again := encoded(t, got); !bytes.Equal(again, text) {
		t.Errorf("written again it is\n%s", again)
	}
	if !reflect.DeepEqual(got.Choices, f.Choices) {
		t.Errorf("choices: got %v, want %v", got.Choices, f.Choices)
	}
	for i := range f.Tables {
		if got.Tables[i].key() != f.Tables[i].key() || got.Tables[i].Baseline != "c-epoll" {
			t.Errorf("table %d: got %+v, want %+v", i, got.Tables[i].key(), f.Tables[i].key())
		}
	}
	if n := bytes.Count(text, []byte(`"baseline"`)); n != 1 {
		t.Errorf("the baseline of all tables stands there %d times", n)
	}
	if bytes.Contains(text, []byte("long")) {
		t.Error("the details of a skipped server are kept")
	}
	empty, err := Decode(encoded(t, &Figures{Version: Version}))
	if err != nil || len(empty.Claims) > 0 {
		t.Errorf("figures of nothing: %v", err)
	}
}

func TestWrongFiguresAreRefused(t *testing.T) {
	right := string(encoded(t, Of(smallRun(t, 1), nil)))
	for _, c := range []struct{ from, to, want string }{
		{`"version": 3`, `"version": 2`, "have version 2, this program reads version 3"},
		{`"version": 3`, `"Nversion": 3`, `no "version"`},
		{`"run"`, `"sun"`, `unknown field "sun"`},
		{`"id":"E2a"`, `"id":"E2b"`, "two claims"},
		{`"word":"reproduced"`, `"word":"maybe"`, "no verdict"},
		{`"name": "eve"`, `"name": "../eve"`, "cannot be the name of a page"},
		{`"group":"level"`, `"group":"even"`, "no standing"},
		{`{"metric":"cpu-per-request","rows"`, `{"rows"`, "two tables"},
		{`"rows":[[`, `"rows":[[1,`, "found 7 of 6"},
		{`"rows":[["c-epoll"`, `"rows":[[7`, "cannot unmarshal number"},
		{`,8],["c-uring"`, `,0],["c-uring"`, "0 rounds of c-epoll"},
		{`,8],["c-uring"`, `,null],["c-uring"`, "0 rounds of c-epoll"},
		{`"accept":[0,`, `"accept":[9,`, "exchanged"},
		{"\n}\n", "\n}\n{}", "not a file of findings"},
		{"\n}\n", "\n", "not a file of findings"},
	} {
		_, err := Decode([]byte(strings.Replace(right, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: got %v, want %q", c.to, c.from, err, c.want)
		}
	}
}

func TestReadSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, ErrNone) ||
		!strings.Contains(err.Error(), "interleave findings RUN") {
		t.Errorf("a folder without figures: %v", err)
	}
	file := filepath.Join(dir, File)
	if err := os.WriteFile(file, []byte(`{"version": 7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a wrong file is not named: %v", err)
	}
}

// FuzzDecode looks for figures that are read and cannot be shown, compared or written again.
func FuzzDecode(f *testing.F) {
	small, err := os.ReadFile("testdata/figures.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Add([]byte(`{"version": 3}`))
	f.Add([]byte(`{"version":3,"claims":[{"id":"A","word":"reproduced"}]}`))
	f.Add([]byte(`{"version":3,"tables":[{"metric":"pss","rows":[["a",1,2,null,null,3]]},` +
		`{"point":"p","rows":[]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Decode(data)
		if err != nil {
			return
		}
		text := encoded(t, x)
		again, err := Decode(text)
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, text)
		}
		if second := encoded(t, again); !bytes.Equal(second, text) {
			t.Fatalf("written twice:\n%s\n%s", text, second)
		}
		two := Together(x, Other{"second", again})
		if _, err := Pages(two, nil, Summary{}, "../.."); err != nil {
			t.Fatal(err)
		}
		for _, c := range two.Claims {
			if two.outcome(c).word == Contradicted {
				t.Fatalf("%s contradicts itself", c.ID)
			}
		}
		var b bytes.Buffer
		c := Compare(x, again)
		if err := errors.Join(c.Text(&b, 80), c.JSON(&b)); err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Claims {
			if p.Told == Differ || p.Told == Changed || p.Told == OneOnly {
				t.Fatalf("%s against itself: %s", p.Claim, p.Told)
			}
		}
	})
}
