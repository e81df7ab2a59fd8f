package keep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

const said = `2026-11-20T07:00:00.000Z :ann!ann@127.0.0.1 PRIVMSG #tea :the kettle is on
2026-11-20T08:00:00.000Z :bob!b@::1 PRIVMSG Ann :psst
2026-11-21T07:00:00.000Z :bob!b@::1 NOTICE @#Tea :it: "boils" <now> :)
2026-11-22T07:00:00.000Z :eve!e@192.0.2.1 TOPIC #cafe :caf` + "\xe9" + `
2026-11-22T08:00:00.000Z :ann!ann@127.0.0.1 PRIVMSG #cafe :
`

// older are the msgids of a text of an older version, which are places in it.
var older = hall.NewMsgids(hall.Secret{}, nil)

// memory is a Text in memory.
type memory struct {
	begin uint64
	text  string
	chunk int // the most bytes of one read; 0: no limit
}

func (m *memory) Begin() uint64 { return m.begin }
func (m *memory) End() uint64   { return m.begin + uint64(len(m.text)) }
func (m *memory) ReadAt(p []byte, at uint64) (int, error) {
	if at < m.begin {
		return 0, errors.New("below the beginning")
	}
	if m.chunk > 0 {
		p = p[:min(len(p), m.chunk)]
	}
	n, err := strings.NewReader(m.text).ReadAt(p, int64(at-m.begin))
	if n > 0 {
		err = nil
	}
	return n, err
}

func noBad(t *testing.T) func(uint64, error) {
	return func(at uint64, err error) { t.Errorf("a bad line at %d: %v", at, err) }
}

func lines(s string, which ...int) string {
	all := strings.SplitAfter(s, "\n")
	out := ""
	for _, i := range which {
		out += all[i]
	}
	return out
}

func TestExportText(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 7, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"all", Filter{}, said},
		{"a room", Filter{Rooms: []string{"#TEA"}}, lines(said, 0, 2)},
		{"two rooms", Filter{Rooms: []string{"#tea", "#cafe"}}, lines(said, 0, 2, 3, 4)},
		{"what one said, and what was said to her alone", Filter{People: []string{"ann"}},
			lines(said, 0, 1, 4)},
		{"one in a room", Filter{People: []string{"bob"}, Rooms: []string{"#tea"}}, lines(said, 2)},
		{"since", Filter{Since: day(21)}, lines(said, 2, 3, 4)},
		{"until", Filter{Until: day(21)}, lines(said, 0, 1)},
		{"words", Filter{Words: []string{"KETTLE", "on"}}, lines(said, 0)},
		{"a word of two, not both", Filter{Words: []string{"kettle", "boils"}}, ""},
		{"a word in a room", Filter{Words: []string{"boils"}, Rooms: []string{"#cafe"}}, ""},
		{"a word beyond ASCII", Filter{Words: []string{"caf\u00e9"}}, ""}, // the text is in Latin-1
		{"a sign that becomes ASCII", Filter{Words: []string{"\u212aETTLE"}}, lines(said, 0)},
		{"a name is no word", Filter{Words: []string{"eve"}}, ""},
		{"nobody", Filter{People: []string{"an"}}, ""},
	} {
		for _, chunk := range []int{0, 1, 7, 100} {
			var b strings.Builder
			n, err := Export(t.Context(), &memory{1000, said, chunk}, test.filter, AsText, nil, &b,
				noBad(t))
			if err != nil || b.String() != test.want || n != strings.Count(test.want, "\n") {
				t.Errorf("%s, read by %d: %d lines, %v:\n%s\nwant:\n%s", test.name, chunk, n, err,
					b.String(), test.want)
			}
		}
	}
}

// TestRoomsThatWereRenamed: a room has what was said under its former names, and not what was said
// in other rooms of those names.
func TestRoomsThatWereRenamed(t *testing.T) {
	text := renamedText()
	for room, want := range map[string]string{"#Brew": lines(text, 0, 1, 2, 5, 6),
		"#chai": lines(text, 0, 1, 2, 5), "#tea": lines(text, 0, 1, 3, 7, 8),
		"#den": lines(text, 4)} {
		var b strings.Builder
		if _, err := Export(t.Context(), &memory{1000, text, 7}, Filter{Rooms: []string{room}},
			AsText, nil, &b, noBad(t)); err != nil || b.String() != want {
			t.Errorf("%s: %v:\n%s\nwant:\n%s", room, err, b.String(), want)
		}
	}
}

// renamedText is a text with two rooms, one of which has got two other names; the other one has the
// first of these later.
func renamedText() (text string) {
	for i, line := range []string{"PRIVMSG #tea :one", "RENAME #tea #Chai :why",
		"PRIVMSG #chai :two", "PRIVMSG #tea :of another room",
		"PRIVMSG #den : RENAME #den #tea :", "RENAME #CHAI #brew :",
		"PRIVMSG @#brew :three", "RENAME #tea #Tea :", "PRIVMSG #Tea :again"} {
		text += fmt.Sprintf("2026-11-20T07:%02d:00.000Z :ann!a@h %s\n", i, line)
	}
	return text
}

// TestRemoveRoomThatWasRenamed: with a room goes what was said in it under any name, and nothing
// that was said in another room that had its name before.
func TestRemoveRoomThatWasRenamed(t *testing.T) {
	text := renamedText()
	for room, want := range map[string]string{"#Brew": lines(text, 0, 1, 2, 5, 6),
		"#chai": "", "#tea": lines(text, 3, 7, 8), "#den": lines(text, 4)} {
		kept, err := log.OpenText(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.Write(0, []byte(text)); err != nil {
			t.Fatal(err)
		}
		var gone strings.Builder
		n, err := RemoveRoom(t.Context(), kept, room, func(l Line) error {
			gone.Write(l.Raw)
			return nil
		})
		if err != nil || gone.String() != want || n != strings.Count(want, "\n") {
			t.Errorf("%s: %d lines, %v:\n%s\nwant:\n%s", room, n, err, gone.String(), want)
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestExportJSON(t *testing.T) {
	var b strings.Builder
	if _, err := Export(t.Context(), &memory{36, said, 0}, Filter{}, AsJSON, older, &b,
		noBad(t)); err != nil {
		t.Fatal(err)
	}
	got := strings.SplitAfter(b.String(), "\n")
	if want :=
		`{"id":"10","time":"2026-11-20T07:00:00Z","from":"ann","source":"ann!ann@127.0.0.1","command":"PRIVMSG","to":"#tea","text":"the kettle is on"}` + "\n"; got[0] != want {
		t.Errorf("got  %swant %s", got[0], want)
	}
	if want := `"text":"it: \"boils\" <now> :)"}` + "\n"; !strings.HasSuffix(got[2], want) {
		t.Errorf("got  %swant …%s", got[2], want)
	}
	var j jsonLine
	if err := json.Unmarshal([]byte(got[3]), &j); err != nil || string(j.Raw) != lines(said, 3) ||
		j.Text != "caf\ufffd" {
		t.Errorf("what is not UTF-8: %+v, %v", j, err)
	}
}

// TestExportOfTags: an export has the msgids that clients see, those of messages of an older
// version too: of each message, in the tags of later texts and previews, and of what a redaction
// has removed. Tags of clients are as they were sent.
func TestExportOfTags(t *testing.T) {
	text := "2026-11-20T07:00:00.000Z @+draft/reply=1m :ann!ann@h PRIVMSG #tea :yes\n" +
		"2026-11-20T07:00:00.000Z @draft/multiline :ann!ann@h PRIVMSG #tea :and no\n" +
		"2026-11-20T07:00:01.000Z :ann!ann@h REDACT #tea 0 :spam\n"
	from := uint64(len(text))
	text += "2026-11-20T07:00:02.000Z :ann!ann@h PRIVMSG #tea :see https://x.example/\n"
	preview := uint64(len(text))
	text += fmt.Sprintf("2026-11-20T07:00:03.000Z @papaya/preview={};+draft/reply=%s :ann!ann@h "+
		"TAGMSG #tea :\n2026-11-20T07:00:04.000Z @draft/edit=%d;+x=y :ann!ann@h PRIVMSG #tea "+
		":no\n", strconv.FormatUint(from, 36), from)
	removal := uint64(len(text))
	text += fmt.Sprintf("2026-11-20T07:00:05.000Z @draft/edit=%d :ann!ann@h REDACT #tea %s\n"+
		"2026-11-20T07:00:06.000Z :ann!ann@h RENAME #tea #den :1m\n", preview,
		strconv.FormatUint(from, 36))
	ids := hall.NewMsgids(hall.Secret{1}, &from)
	message := ids.Of(from)
	want := []string{`{"id":"0",`, `"tags":"+draft/reply=1m","from":"ann"`,
		`"tags":"draft/multiline","from":"ann"`,
		`"command":"REDACT","to":"#tea","of":"0","text":"spam"`,
		`{"id":"` + message + `","time":"2026-11-20T07:00:02Z","from"`,
		`{"id":"` + ids.Of(preview) + `","time":"2026-11-20T07:00:03Z",` +
			`"tags":"papaya/preview={};+draft/reply=` + message + `","from"`,
		`"tags":"+draft/edit=` + message + `;+x=y","from"`,
		`{"id":"` + ids.Of(removal) + `","time":"2026-11-20T07:00:05Z","from":"ann"`,
		`"command":"REDACT","to":"#tea","of":"` + message + `","text":""`,
		`"command":"RENAME","to":"#tea","of":"#den","text":"1m"`}
	var b strings.Builder
	n, err := Export(t.Context(), &memory{0, text, 0}, Filter{}, AsJSON, ids, &b, noBad(t))
	if n != 8 || err != nil || len(message) != 26 {
		t.Errorf("%d lines, %v", n, err)
	}
	rest := b.String()
	for _, w := range want { // one behind the other
		before, after, ok := strings.Cut(rest, w)
		if rest = after; !ok {
			t.Fatalf("%s is not in\n%s", w, before)
		}
	}
}

// TestForeignLines: lines that somebody has added to the file are reported and skipped. A line
// without an end does not count yet.
func TestForeignLines(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	text := "hello\n" + lines(said, 0) + long + "\n\n" +
		lines(said, 1) + strings.TrimSuffix(lines(said, 2), "\n")
	var b strings.Builder
	bad := map[uint64]bool{}
	if _, err := Export(t.Context(), &memory{0, text, 5000}, Filter{}, AsText, nil, &b,
		func(at uint64, _ error) { bad[at] = true }); err != nil {
		t.Fatal(err)
	}
	if b.String() != lines(said, 0, 1) || !bad[0] || !bad[uint64(6+len(lines(said, 0)))] {
		t.Errorf("got %q, bad at %v", b.String(), bad)
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// BenchmarkWords searches 100,000 lines for a word that is in none.
func BenchmarkWords(b *testing.B) {
	text := &memory{text: strings.Repeat(said, 20_000)}
	b.SetBytes(int64(len(text.text)))
	for b.Loop() {
		if n, err := Export(b.Context(), text, Filter{Words: []string{"coffee"}}, AsText, nil,
			&strings.Builder{}, func(uint64, error) {}); err != nil || n != 0 {
			b.Fatal(n, err)
		}
	}
}

func TestExportFails(t *testing.T) {
	if _, err := Export(t.Context(), &memory{0, said, 0}, Filter{}, AsText, nil, fullDisk{},
		noBad(t)); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Export(ctx, &memory{0, said, 0}, Filter{}, AsText, nil, &strings.Builder{},
		noBad(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C: %v", err)
	}
}

// dataFolder makes a data folder with messages in its log.
func dataFolder(t *testing.T) (string, *log.Text) {
	folder := t.TempDir()
	text, err := log.OpenText(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = text.Close() })
	if err := text.Write(0, []byte(said)); err != nil {
		t.Fatal(err)
	}
	return folder, text
}

func TestRetain(t *testing.T) {
	folder, text := dataFolder(t)
	now := time.Date(2026, 11, 22, 7, 30, 0, 0, time.UTC)
	if n, err := Retain(t.Context(), text, 0, now); n != 0 || err != nil {
		t.Errorf("forever: %d, %v", n, err)
	}
	if n, err := Retain(t.Context(), text, 100*24*time.Hour, now); n != 0 || err != nil ||
		text.Begin() != 0 {
		t.Errorf("nothing is old: %d, %v", n, err)
	}
	gone := len(lines(said, 0, 1))
	if n, err := Retain(t.Context(), text, 30*time.Hour, now); n != uint64(gone) || err != nil {
		t.Errorf("two lines are old: %d, %v; want %d", n, err, gone)
	}
	f, err := OpenFile(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	if _, err := Export(t.Context(), f, Filter{}, AsJSON, older, &b, noBad(t)); err != nil ||
		!strings.HasPrefix(b.String(), `{"id":"`+older.Of(uint64(gone))+`","time":"2026-11-21`) {
		t.Errorf("the places have moved: %s, %v", b.String(), err)
	}
	if n, err := Retain(t.Context(), text, time.Minute,
		now.Add(24*time.Hour)); n != uint64(len(said)-gone) || err != nil ||
		text.Begin() != text.End() {
		t.Errorf("all is old: %d, %v", n, err)
	}
	if err := text.Write(text.End(), []byte(lines(said, 0))); err != nil {
		t.Errorf("and then it is written: %v", err)
	}
}

// TestCalendar: on the day on which a date is found to have been set, nothing is removed.
func TestCalendar(t *testing.T) {
	var c Calendar
	date, passed := time.Date(2026, 11, 22, 7, 30, 0, 0, time.UTC), time.Duration(0)
	for n, step := range []struct {
		by, set time.Duration
		want    bool
	}{
		{0, 0, true}, {24 * time.Hour, 0, true}, {24 * time.Hour, time.Minute, true},
		// a reload after a minute is no new day
		{24 * time.Hour, 365 * 24 * time.Hour, false}, {time.Minute, 0, false},
		{23 * time.Hour, 0, true},
		{24 * time.Hour, -365 * 24 * time.Hour, false}, {24 * time.Hour, 0, true},
		{0, -2 * time.Hour, false}, {0, 2 * time.Hour, false}, {22 * time.Hour, 0, false},
		{time.Hour, 0, true},
	} {
		passed += step.by
		date = date.Add(step.by + step.set)
		if got := c.Believe(date, passed); got != step.want {
			t.Errorf("look %d, %v after the last, set by %v: %v, want %v", n, step.by, step.set,
				got, step.want)
		}
	}
}

func TestRetainRooms(t *testing.T) {
	folder, text := dataFolder(t)
	now := time.Date(2026, 11, 22, 7, 30, 0, 0, time.UTC)
	ages := map[string]time.Duration{"#tea": 0, "#cafe": 0}
	if n, err := RetainRooms(t.Context(), text, ages, now,
		func(Line) error { return errFull }); n != 0 || !errors.Is(err, errFull) {
		t.Errorf("after an error: %d lines, %v", n, err)
	}
	for i, test := range []struct {
		ages map[string]time.Duration
		want int
	}{
		{nil, 0}, {map[string]time.Duration{"#none": 0}, 0},
		{map[string]time.Duration{"#TEA": 100 * 24 * time.Hour}, 0},
		{map[string]time.Duration{"#TEA": 30 * time.Hour, "#cafe": 2 * time.Hour}, 1},
		{map[string]time.Duration{"#tea": 30 * time.Hour}, 0},
		{map[string]time.Duration{"#tea": 0}, 1},
	} {
		told := 0
		n, err := RetainRooms(t.Context(), text, test.ages, now, func(l Line) error {
			if l.Body != "" {
				told++
			}
			return nil
		})
		if n != test.want || told != n || err != nil {
			t.Errorf("%d: %d lines, of which %d were told, %v; want %d", i, n, told, err, test.want)
		}
	}
	f, err := OpenFile(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	n, err := Export(t.Context(), f, Filter{}, AsText, nil, &b, noBad(t))
	if n != 3 || err != nil || b.String() != lines(said, 1, 3, 4) {
		t.Errorf("%d lines stay, %v: %s", n, err, b.String())
	}
	// Removed lines are dropped together with the lines around them.
	if n, err := Retain(t.Context(), text, 30*time.Hour,
		now); n != uint64(len(lines(said, 0, 1, 2))) || err != nil {
		t.Errorf("the head: %d, %v", n, err)
	}
}

func TestOpenFileSaysWhatIsWrong(t *testing.T) {
	if _, err := OpenFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	folder, _ := dataFolder(t)
	if err := os.WriteFile(filepath.Join(folder, "log.begin"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(folder); err == nil || !strings.Contains(err.Error(), "log.begin") {
		t.Errorf("got %v", err)
	}
}

func openLog(folder string) (log.Log, error) {
	return log.Open(context.Background(), log.Options{Folder: filepath.Join(folder, "jetstream")})
}

// backedUp makes a data folder with every kind of file, and returns its backup.
func backedUp(t *testing.T) []byte {
	folder, text := dataFolder(t)
	l, err := openLog(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := t.Context()
	for i := range 5 {
		if _, err := l.Append(ctx, fmt.Appendf(nil, "batch %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	at := len(lines(said, 0, 1, 2)) // the state ends before the messages of the last batches
	if err := l.SaveState(ctx, 3, fmt.Appendf(nil, `{"Format":1,"At":%d}`, at)); err != nil {
		t.Fatal(err)
	}
	keys, err := l.Keys(ctx, "accounts")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"account.ann", "account.=5bx=5d"} {
		if err := keys.Put(ctx, k, []byte("value of "+k), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := text.Cut(uint64(len(lines(said, 0)))); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"password", "tls/own/key.pem", "files/.new-1/data",
		"files/1/.info-2"} { // the last two are not complete yet
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("file "+file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	s := Source{Log: l, Text: text, Tables: []string{"accounts"}, Folder: folder,
		Files: []string{"password", "tls", "files", "absent"}, Now: time.Unix(1_800_000_000, 0)}
	if err := Backup(ctx, s, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBackupIsRestored(t *testing.T) {
	backup := backedUp(t)
	folder := filepath.Join(t.TempDir(), "new", "data")
	done, err := Restore(t.Context(), bytes.NewReader(backup), folder, openLog)
	if err != nil || done != (Restored{Lines: 2, Batches: 2, Keys: 2, Files: 2}) {
		t.Fatalf("restored: %+v, %v", done, err)
	}
	text, err := log.OpenText(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var b strings.Builder
	if _, err := Export(t.Context(), text, Filter{}, AsText, nil, &b, noBad(t)); err != nil ||
		b.String() != lines(said, 1, 2) {
		t.Errorf("the text: %q, %v", b.String(), err)
	}
	if text.Begin() != uint64(len(lines(said, 0))) {
		t.Errorf("it begins at %d", text.Begin())
	}
	l, err := openLog(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sequence, state, err := l.LoadState(t.Context())
	if err != nil || sequence != 0 ||
		string(state) != fmt.Sprintf(`{"Format":1,"At":%d}`, len(lines(said, 0, 1, 2))) {
		t.Errorf("the state: %d, %s, %v", sequence, state, err)
	}
	batches, err := after(t.Context(), l, 0)
	if err != nil || len(batches) != 2 || string(batches[0]) != "batch 3" ||
		string(batches[1]) != "batch 4" {
		t.Errorf("the batches: %q, %v", batches, err)
	}
	keys, err := l.Keys(t.Context(), "accounts")
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := keys.Get(t.Context(), "account.=5bx=5d"); err != nil ||
		string(v) != "value of account.=5bx=5d" {
		t.Errorf("a key: %q, %v", v, err)
	}
	for _, file := range []string{"password", "tls/own/key.pem"} {
		path := filepath.Join(folder, file)
		data, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		if err != nil || string(data) != "file "+file || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q, %v", file, data, err)
		}
	}
	if list, _ := os.ReadDir(filepath.Dir(folder)); len(list) != 1 {
		t.Errorf("left beside it: %v", list)
	}
	if _, err := Restore(t.Context(), bytes.NewReader(backup), folder, openLog); err == nil ||
		!strings.Contains(err.Error(), "is not empty") {
		t.Errorf("over one that is there: %v", err)
	}
}

// TestDamagedBackups: a damaged backup leaves no folder behind.
func TestDamagedBackups(t *testing.T) {
	backup := backedUp(t)
	flip := func(at int) []byte {
		b := bytes.Clone(backup)
		b[at] ^= 1
		return b
	}
	for name, b := range map[string][]byte{
		"empty":             nil,
		"no tar":            bytes.Repeat([]byte("x"), 2000),
		"cut in the middle": backup[:len(backup)/2],
		"cut before sums":   backup[:bytes.LastIndex(backup, []byte(sumsName))],
		"a bit of the text": flip(bytes.Index(backup, []byte("psst"))),
		"a bit of a key":    flip(bytes.Index(backup, []byte(`"account.ann"`)) + 3),
	} {
		folder := filepath.Join(t.TempDir(), "data")
		if _, err := Restore(t.Context(), bytes.NewReader(b), folder, openLog); err == nil {
			t.Errorf("%s: was restored", name)
		} else if !strings.Contains(err.Error(), "backup") {
			t.Errorf("%s: %v", name, err)
		}
		if list, _ := os.ReadDir(filepath.Dir(folder)); len(list) != 0 {
			t.Errorf("%s: left: %v", name, list)
		}
	}
}

func TestBackupFails(t *testing.T) {
	folder, text := dataFolder(t)
	l, err := openLog(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := Source{Log: l, Text: text, Folder: folder}
	if err := Backup(t.Context(), s, fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	if err := l.SaveState(t.Context(), 1, []byte(`{"At":100000}`)); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), s, &bytes.Buffer{}); err == nil ||
		!strings.Contains(err.Error(), "the state stands at 100000") {
		t.Errorf("a text that lags behind: %v", err)
	}
}

func FuzzParseLine(f *testing.F) {
	for l := range strings.Lines(said) {
		f.Add([]byte(l))
	}
	f.Add([]byte("2026-11-20T07:00:00.000Z :a b c"))
	f.Add([]byte("2026-11-20T07:00:00.000Z @+a=b;+c :ann!ann@host PRIVMSG #tea :x\n"))
	f.Add([]byte("2026-11-20T07:00:00.000Z :ann!ann@host REDACT #tea 1m :why\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := parseLine(raw, 7)
		if err != nil {
			return
		}
		tags := ""
		if bytes.HasPrefix(raw[len(stamp):], []byte(" @")) {
			tags = "@" + l.Tags + " "
		}
		if l.Source == "" || l.Command == "" || l.To == "" || l.At != 7 ||
			!strings.HasPrefix(string(raw), l.Time.Format(stamp)+" "+tags+":"+l.Source+" "+
				l.Command+" "+l.To) {
			t.Errorf("%q was read as %+v", raw, l)
		}
	})
}
