package manifest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

const modelFile = "services/echo/c-process/model.toml"

const goodModel = `language = "c"
model    = "process"
summary  = "a process for each client"
needs    = ["cc", "java >= 25", "pkg:liburing"]
build    = ["cc", "-o", "{out}/echo", "echo.c"]
run      = ["{out}/echo", "{port}", "{host}"]
warmup   = "5s"
ready    = "connect"

[env]
TABLES = "{out}/tables"
`

func TestModel(t *testing.T) {
	m, err := parseModel(modelFile,
		[]byte(strings.Replace(goodModel, "\n\n", "\nstartup  = \"2500ms\"\n\n", 1)),
		[]string{"echo.c", "echo.o", "model.toml"})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "c-process" || m.Service != "echo" || m.Language != "c" || m.Model != "process" {
		t.Errorf("got %s of %s, %s, %s", m.Name, m.Service, m.Language, m.Model)
	}
	if !slices.Equal(m.Source, []string{"echo.c"}) {
		t.Errorf("source: got %q, want echo.c: what the compiler left is none", m.Source)
	}
	if m.WarmUp != 5*time.Second || m.StartUp != 2500*time.Millisecond || m.Ready != ReadyConnect ||
		m.Env["TABLES"] != "{out}/tables" {
		t.Errorf("got %v, %v, %v", m.WarmUp, m.Ready, m.Env)
	}
	if len(m.Build) != 1 || len(m.Build[0]) != 4 || len(m.Run) != 3 {
		t.Errorf("got build %q, run %q", m.Build, m.Run)
	}
}

func TestModelDefaults(t *testing.T) {
	const least = "language = 'node'\nmodel = 'loop'\nsummary = 'one loop'\nrun = ['node', " +
		"'echo.js', '{port}']\n"
	m, err := parseModel("services/echo/node-loop/model.toml", []byte(least), []string{"Echo.js"})
	if err != nil {
		t.Fatal(err)
	}
	if m.WarmUp != time.Second || m.Ready != ReadyLine || m.Build != nil {
		t.Errorf("got warm-up %v, ready %q, build %q", m.WarmUp, m.Ready, m.Build)
	}
}

// A model that is held to a part of its service's transcripts says so wherever it is shown.
func TestModelHeldToLess(t *testing.T) {
	m, err := parseModel(modelFile, []byte("conform = [\"irc\", \"order\"]\n"+goodModel),
		[]string{"echo.c"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Conform, []string{"irc", "order"}) ||
		m.Summary != "a process for each client; of the service's transcripts it is held to "+
			"irc, order only" {
		t.Errorf("got %q, %q", m.Conform, m.Summary)
	}
}

func TestModelSeveralCommands(t *testing.T) {
	text := strings.Replace(goodModel, `["cc", "-o", "{out}/echo", "echo.c"]`,
		"[\n  ['cc', '-c', 'echo.c'],\n  ['cc', '-o', '{out}/echo', 'echo.o'],\n]", 1)
	m, err := parseModel(modelFile, []byte(text), []string{"echo.c"})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Build) != 2 || m.Build[1][2] != "{out}/echo" {
		t.Errorf("got %q, want two commands", m.Build)
	}
}

func TestModelWrong(t *testing.T) {
	const at = modelFile
	tests := []struct {
		name, old, new string
		files          string // beside model.toml; empty is echo.c
		want           string
	}{
		{"word", `"process"`, `"proces"`, "", at +
			`:2: model: "proces" is not known: did you mean "process"? (known: process, thread, virtual, goroutine, green, actor, loop, prefork, async, task, csp, serial)`},
		{"far word", `"process"`, `"reactor-pattern"`, "", at +
			`:2: model: "reactor-pattern" is not known: expected one of process, thread, virtual, goroutine, green, actor, loop, prefork, async, task, csp, serial`},
		{"model and folder", `"process"`, `"thread"`, "", at +
			`:2: model: is "thread", but the folder is "c-process": expected "process"`},
		{"language and folder", `"c"`, `"go"`, "", at +
			`:1: language: is "go", but the folder is "c-process": expected "c"`},
		{"unknown key", "summary ", "sumary ", "", at +
			": summary is missing: expected one sentence: the trade that the model shows\n" +
			at +
			`:3: unknown key "sumary" in the file: did you mean "summary"? (known: language, model, summary, needs, build, run, env, warmup, startup, ready, files, uses, conform, stack, source)`},
		{"experiment's spelling", "warmup", "warm_up", "", at +
			`:7: unknown key "warm_up" in the file: did you mean "warmup"? (known: language, model, summary, needs, build, run, env, warmup, startup, ready, files, uses, conform, stack, source)`},
		{"no run", `run      = ["{out}/echo", "{port}", "{host}"]`, "", "", at +
			`: run is missing: expected a command such as ["{out}/echo", "{port}", "{host}"]`},
		{"empty run", `["{out}/echo", "{port}", "{host}"]`, "[]", "", at +
			`:6: run: is empty: expected a command such as ["{out}/echo", "{port}", "{host}"]`},
		{"run without port", `"{port}", "{host}"`, `"4000"`, "", at +
			":6: run: does not use {port}: the server must listen where it is told to"},
		{"run as text", `["{out}/echo", "{port}", "{host}"]`, `"{out}/echo {port}"`, "", at +
			`:6: run: expected an array of strings such as ["a", "b"], got "{out}/echo {port}"`},
		{"placeholder", "{host}", "{hots}", "", at +
			`:6: run: unknown placeholder {hots}: did you mean "{host}"? (known: {out}, {port}, {host}, {data}, {next}, {device}, {address}, {peer}, {kernel}, {problem}, {workers}, {rounds})`},
		{"port in build", `"echo.c"]`, `"echo.c", "{port}"]`, "", at +
			`:5: build: unknown placeholder {port}: expected one of {out}, {tools}, {cache}`},
		{"empty conform", `ready `, "conform = []\nready ", "", at +
			":8: conform: is empty: leave it out to hold the model to all transcripts of its " +
			"service"},
		{"empty build", `["cc", "-o", "{out}/echo", "echo.c"]`, "[]", "", at +
			":5: build: is empty: leave it out if there is nothing to build"},
		{"number in build", `"-o",`, "2,", "", at + ":5: build: expected text in quotes, got 2"},
		{"env placeholder", "{out}/tables", "{dir}/tables", "", at +
			":11: env.TABLES: unknown placeholder {dir}: expected one of {out}, {port}, {host}, " +
			"{data}, {next}, {device}, {address}, {peer}, {kernel}, {problem}, {workers}, " +
			"{rounds}"},
		{"env number", `"{out}/tables"`, "4", "", at +
			`:11: env: expected text in quotes for "TABLES", got 4`},
		{"need", `"java >= 25"`, `"java > 25"`, "", at +
			`:4: needs: "java > 25" is no tool chain: expected a program or pkg:library, such as "cc", "java >= 25" or "pkg:liburing"`},
		{"need twice", `"java >= 25"`, `"cc"`, "", at + `:4: needs: "cc" is there twice`},
		{"duration", `"5s"`, "5", "", at +
			`:7: warmup: expected a duration such as "5s" or "300ms", got 5`},
		{"long duration", `"5s"`, `"48h"`, "", at +
			`:7: warmup: expected a duration from 0s to 24h0m0s, got 48h0m0s`},
		{"ready", `"connect"`, `"conect"`, "", at +
			`:8: ready: "conect" is not known: did you mean "connect"? (known: line, connect)`},
		{"syntax", `"process"`, `process`, "", at +
			":2: not TOML: unexpected character U+0070 'p' at start of value"},
		{"no source", "", "", "main.c", at +
			": no source: expected a file named after the service, such as echo.c, or the key " +
			"source"},
		{"two sources", "", "", "echo.c echo.h", at +
			": which of echo.c, echo.h is the source? name it with the key source"},
		{"named source", "language", "source = [\n  'echo.c',\n  'loop.c',\n]\nlanguage", "echo.c",
			at + `:3: source: there is no file "loop.c" beside model.toml`},
		{"endless list", `"java >= 25"`, `"a"` + strings.Repeat(`,"a"`, longest), "", at +
			":4: needs: has 1003 entries, more than 1000"},
		{"all at once", `"process"`, "1", "main.c", at +
			": no source: expected a file named after the service, such as echo.c, or the key " +
			"source\n" +
			at + ":2: model: expected text in quotes, got 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(goodModel, tt.old) {
				t.Fatalf("the good model has no %q", tt.old)
			}
			files := strings.Fields(tt.files)
			if tt.files == "" {
				files = []string{"echo.c"}
			}
			_, err := parseModel(at, []byte(strings.Replace(goodModel, tt.old, tt.new, 1)), files)
			checkError(t, err, tt.want)
		})
	}
}

func TestModelOnStack(t *testing.T) {
	for _, c := range []struct {
		hosts  Hosts
		stacks string // in model.toml
		want   []string
	}{
		{Local, "", []string{"go-goroutine local kernel"}},
		{Local, "kernel gonet", []string{"go-goroutine local kernel",
			"go-goroutine-gonet tap gonet"}},
		{Tap, "", nil},
		{Tap, "kernel", []string{"go-goroutine netns kernel"}},
	} {
		m := &Model{Name: "go-goroutine", Run: []string{"{device}", "{port}"}}
		for s := range strings.FieldsSeq(c.stacks) {
			m.Stacks = append(m.Stacks, Stack(s))
		}
		if err := (&Service{Name: "s", Protocol: Transfer, Hosts: c.hosts}).adopt(m,
			"model.toml"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, stack := range []Stack{Kernel, GoNet} {
			if v := m.OnStack(stack); v != nil {
				got = append(got, strings.Join([]string{v.Name, string(v.Hosts), string(v.Stack)},
					" "))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s hosts, stacks %q: got %q, want %q", c.hosts, c.stacks, got, c.want)
		}
		if m.Name != "go-goroutine" {
			t.Error("the model itself was renamed")
		}
	}
}

func TestModelFolder(t *testing.T) {
	for _, folder := range []string{"echo", "C-process", "c-", "c--process", "c process",
		"c-process/.."} {
		_, err := parseModel("services/echo/"+folder+"/model.toml", []byte(goodModel),
			[]string{"echo.c", "services.c"})
		if err == nil {
			t.Errorf("the folder %q was taken for a model", folder)
		}
	}
	// c-epoll holds no word of the list: its word is what model.toml says.
	text := strings.Replace(goodModel, `"process"`, `"loop"`, 1)
	if _, err := parseModel("services/echo/c-epoll/model.toml", []byte(text),
		[]string{"echo.c"}); err != nil {
		t.Error(err)
	}
}

// checkError compares an error's full text.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExpand(t *testing.T) {
	values := map[string]string{"out": "/tmp/{port}", "port": "4000"}
	got := Expand([]string{"{out}/echo", "-p{port}", "{host}", "{ok,_}"}, values)
	want := []string{"/tmp/{port}/echo", "-p4000", "{host}", "{ok,_}"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !maps.Equal(values, map[string]string{"out": "/tmp/{port}", "port": "4000"}) {
		t.Error("the values were changed")
	}
}

func TestNearest(t *testing.T) {
	tests := []struct{ word, want string }{
		{"proces", "process"}, {"Thread", "thread"}, {"gorutine", "goroutine"}, {"fiber", ""},
		{"", ""},
		{strings.Repeat("process", 1000), ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.word, Words); got != tt.want {
			t.Errorf("Nearest(%.20q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestQuantities(t *testing.T) {
	tests := []struct {
		q    quantity
		v    any
		want float64 // -1: an error
	}{
		{sizes, "16 B", 16}, {sizes, "8 MiB", 8 << 20}, {sizes, "8MiB", 8 << 20},
		{sizes, "2 kB", 2000},
		{sizes, int64(7), 7}, {sizes, "7", 7}, {sizes, "1.5 KiB", 1536}, {sizes, "16 b", -1},
		{sizes, "16 bytes", -1}, {sizes, "", -1}, {sizes, "B", -1},
		{rates, "5000/s", 5000}, {rates, "5 k/s", 5000}, {rates, "5e3/s", 5000},
		{rates, "5000/min", -1}, {rates, 2.5, 2.5}, {rates, "0x10/s", -1}, {rates, "1_000/s", -1},
		{bitRates, "1 Mbit/s", 1e6}, {bitRates, "1 MB/s", 8e6}, {bitRates, "1 MiB/s", 8 << 20},
		{bitRates, "1 Mb/s", -1}, {bitRates, "64 kbit/s", 64000},
		{shares, 0.25, .25}, {shares, "0.25", .25}, {shares, "25 %", -1}, {shares, true, -1},
		{sizes, "1e999 B", -1}, {sizes, "NaN", -1}, {sizes, "Inf B", -1},
	}
	for _, tt := range tests {
		got, err := tt.q.parse(tt.v)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%s of %#v = %v, %v; want %v", tt.q.name, tt.v, got, err, tt.want)
		}
	}
}

// TestVariants: a model all of whose source is another one's is a variant of that.
func TestVariants(t *testing.T) {
	for of, source := range map[string][]string{
		"":           {"main.c"},
		"c-process":  {"../c-process/main.c", "../c-process/log.c"},
		"go":         {"../go/"},
		"no sources": nil,
		"mixed":      {"../c-process/main.c", "os.c"},
		"two":        {"../c-process/main.c", "../c-thread/os.c"},
		"elsewhere":  {"../../transfer/go-csp-layers/main.go"},
	} {
		want := of
		if slices.Contains([]string{"no sources", "mixed", "two", "elsewhere"}, of) {
			want = ""
		}
		if got := (&Model{Source: source}).VariantOf(); got != want {
			t.Errorf("%v: got %q, want %q", source, got, want)
		}
	}
}
