package manifest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// UsualWarmUp is the warm-up of a model that asks for none.
const UsualWarmUp = time.Second

// need is a tool chain: a program, or a library by its pkg-config name, with its least version.
var need = regexp.MustCompile(`^(pkg:)?[A-Za-z][A-Za-z0-9_.+-]*( *>= *[0-9]+(\.[0-9]+)*)?$`)

// variable is a name that every shell can hand on.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var (
	buildHolds = []string{"{out}", "{tools}", "{cache}"}
	runHolds   = []string{"{out}", "{port}", "{host}", "{data}", "{next}", "{device}", "{address}",
		"{peer}", "{kernel}", "{problem}", "{workers}", "{rounds}"}
)

// LoadModel reads one model.toml of the service and looks for the sources beside it. The file is
// named relative to root.
func (s *Service) LoadModel(root, file string) (*Model, error) {
	data, err := read(root, file)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(root, filepath.Dir(file)))
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, e.Name())
		}
	}
	m, err := parseModel(file, data, files)
	if err != nil {
		return nil, err
	}
	m.Dir = filepath.Join(root, filepath.Dir(file))
	// Files that a model uses are looked for when it is built: a record has its manifests and
	// sources, and nothing else.
	for _, name := range m.Source {
		if !filepath.IsLocal(filepath.Join(filepath.Dir(file), name)) {
			return nil, &Error{File: file, Line: m.lines["source"],
				Err: fmt.Errorf("source: %q is not in this tree", name)}
		}
		if _, err := os.Stat(filepath.Join(m.Dir, name)); err != nil {
			return nil, &Error{File: file, Line: m.lines["source"],
				Err: fmt.Errorf("source: %q: %w", name, cause(err))}
		}
	}
	return m, s.adopt(m, file)
}

// adopt settles where the model's server is, and holds it against what its service wants: a server
// behind a tap is told its device, another its port, a program its problem.
func (s *Service) adopt(m *Model, file string) error {
	wrong := func(key, format string, args ...any) error {
		return &Error{File: file, Line: m.lines[key], Err: fmt.Errorf(key+format, args...)}
	}
	for _, hold := range s.holds() {
		if !m.Holds(hold) {
			return wrong("run", " does not use %s, as every model of services/%s must", hold,
				s.Name)
		}
	}
	m.Hosts, m.Stack = Local, Kernel
	switch {
	case s.Hosts == Tap && len(m.Stacks) == 0:
		m.Hosts, m.Stack = Tap, ""
	case s.Hosts == Tap && !slices.Equal(m.Stacks, []Stack{Kernel}):
		return wrong("stack",
			" is %q, but the servers of services/%s bring their own: expected \"kernel\" for "+
				"one that does not, or no stack", m.Stacks, s.Name)
	case s.Hosts == Tap:
		m.Hosts = NetNS
	case len(m.Stacks) == 0:
		m.Stacks = []Stack{Kernel}
	case !slices.Contains(m.Stacks, Kernel):
		return wrong("stack",
			" is %q, but the servers of services/%s run on the kernel's: expected [\"kernel\", "+
				"\"gonet\"] for one that can do both, or no stack", m.Stacks, s.Name)
	}
	return nil
}

// holds are the placeholders that a model of the service must use.
func (s *Service) holds() []string {
	switch {
	case s.Protocol == Program:
		return []string{"{kernel}"}
	case s.Protocol == Ping:
		return []string{"{device}"}
	case s.Hosts == Tap:
		return []string{"{device}", "{port}"}
	case s.Protocol == "":
		return nil // the service's own file is wrong, which has been said
	}
	return []string{"{port}"}
}

// OnStack returns the model as a variant that runs on another stack than it usually does, or nil if
// it cannot. Its name says so: go-goroutine on GoNet is go-goroutine-gonet.
func (m *Model) OnStack(stack Stack) *Model {
	if m.Stack == stack {
		return m
	}
	if !slices.Contains(m.Stacks, stack) {
		return nil
	}
	v := *m
	v.Name = NameOn(m.Name, stack)
	v.Summary += "; here on " + string(stack) + ", behind a tap, in place of the kernel's stack"
	v.Stack, v.Hosts = stack, Tap
	// the package, beside services
	v.Uses = append(slices.Clone(m.Uses), filepath.Join("..", "..", "..", string(stack)))
	return &v
}

// NameOn is the name of a model on a stack.
func NameOn(model string, stack Stack) string {
	if stack == Kernel {
		return model
	}
	return model + "-" + string(stack)
}

// parseModel reads a model.toml that lies beside files.
func parseModel(file string, data []byte, files []string) (*Model, error) {
	d, t := parse(file, data)
	if t == nil {
		return nil, d.err()
	}
	dir := filepath.Dir(file)
	m := &Model{
		Name:     filepath.Base(dir),
		Service:  filepath.Base(filepath.Dir(dir)),
		Language: t.need("language", `the first part of the folder's name, such as "c"`),
		Model:    t.needWord("model", Words),
		Summary:  t.need("summary", "one sentence: the trade that the model shows"),
		Needs:    t.distinct("needs"),
		Build:    t.commands("build"),
		Run:      t.texts("run", false),
		Env:      t.strings("env"),
		WarmUp:   t.duration("warmup", 0, UsualWarmUp),
		StartUp:  t.duration("startup", 0, 0),
		Ready:    Ready(t.word("ready", readies)),
		Tables:   t.word("files", tables) == "thread",
		Uses:     t.distinct("uses"),
		Conform:  t.distinct("conform"),
		lines: map[string]int{"run": t.at("run"), "stack": t.at("stack"),
			"source": t.at("source")},
	}
	for i, s := range t.texts("stack", true) {
		if !slices.Contains(stacks, s) {
			t.d.fail(t.atItem("stack", i), "stack: %q is not known: %s", s, suggest(s, stacks))
		}
		m.Stacks = append(m.Stacks, Stack(s))
	}
	if m.Ready == "" {
		m.Ready = ReadyLine
	}
	m.Source = t.sources(m, files)
	if t.empty("conform") {
		t.fail("conform",
			"is empty: leave it out to hold the model to all transcripts of its service")
	}
	if len(m.Conform) > 0 { // a reader must know which promises it does not keep
		m.Summary += "; of the service's transcripts it is held to " +
			strings.Join(m.Conform, ", ") + " only"
	}
	t.checkName(m)
	t.checkCommands(m)
	t.finish()
	if err := d.err(); err != nil {
		return nil, err
	}
	return m, nil
}

// checkName holds the folder's name against what the file says.
func (t *table) checkName(m *Model) {
	parts := strings.Split(m.Name, "-")
	if !folderName.MatchString(m.Name) || len(parts) < 2 {
		t.d.fail(0,
			"the folder %q is no name for a model: expected language-model or "+
				"language-model-variant, such as \"c-epoll-percore\"", m.Name)
		return
	}
	if m.Language != "" && m.Language != parts[0] {
		t.fail("language", "is %q, but the folder is %q: expected %q", m.Language, m.Name, parts[0])
	}
	// The second part is the model's word or, where a language has several of one word, what tells
	// them apart: c-epoll and c-libev are both loops. A word of the list must be the model's.
	for _, part := range parts[1:] {
		if m.Model != "" && part != m.Model && slices.Contains(Words, part) {
			t.fail("model", "is %q, but the folder is %q: expected %q", m.Model, m.Name, part)
		}
	}
}

// Holds says whether the command to run uses a placeholder.
func (m *Model) Holds(placeholder string) bool {
	return strings.Contains(strings.Join(m.Run, " "), placeholder)
}

func (t *table) checkCommands(m *Model) {
	for i, n := range m.Needs {
		if !need.MatchString(n) {
			t.d.fail(t.atItem("needs", i),
				`needs: %q is no tool chain: expected a program or pkg:library, such as "cc", "java >= 25" or "pkg:liburing"`, n)
		}
	}
	for _, command := range m.Build {
		t.checkHolds("build", command, buildHolds)
	}
	switch {
	case !t.has("run"):
		t.missing("run", `a command such as ["{out}/echo", "{port}", "{host}"]`)
	case t.empty("run"):
		t.fail("run",
			"is empty: expected a command such as [\"{out}/echo\", \"{port}\", \"{host}\"]")
	case len(m.Run) > 0 && !m.Holds("{port}") && !m.Holds("{device}") && !m.Holds("{kernel}"):
		t.fail("run", "does not use {port}: the server must listen where it is told to")
	}
	t.checkHolds("run", m.Run, runHolds)
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		t.checkHolds("env."+name, []string{m.Env[name]}, runHolds)
	}
}

// checkHolds reports placeholders that nothing will replace.
func (t *table) checkHolds(key string, command, known []string) {
	for i, arg := range command {
		for _, hold := range placeholder.FindAllString(arg, -1) {
			if !slices.Contains(known, hold) {
				t.d.fail(t.atItem(key, i), "%s: unknown placeholder %s: %s", key, hold,
					suggest(hold, known))
			}
		}
	}
}

// commands reads one command or several.
func (t *table) commands(key string) [][]string {
	list := t.list(key,
		`a command as an array of strings such as ["cc", "-o", "{out}/echo", "echo.c"]`)
	if t.empty(key) {
		t.fail(key, "is empty: leave it out if there is nothing to build")
	}
	if len(list) == 0 {
		return nil
	}
	if _, several := list[0].([]any); !several {
		return [][]string{t.texts(key, false)}
	}
	var out [][]string
	for i, e := range list {
		inner, ok := e.([]any)
		if !ok || len(inner) == 0 {
			t.d.fail(t.atItem(key, i), "%s: expected each command as an array of strings, got %s",
				key, show(e))
			continue
		}
		command := &table{d: t.d, path: t.path, values: map[string]any{element(key, i): inner}}
		out = append(out, command.texts(element(key, i), false))
	}
	return out
}

// strings reads a table of texts.
func (t *table) strings(key string) map[string]string {
	inner := t.table(key)
	if inner == nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(inner.values)) {
		s, ok := inner.values[name].(string)
		if !variable.MatchString(name) {
			inner.d.fail(inner.at(name), "%s: %q is no name of a variable", key, name)
			continue
		}
		if !ok {
			inner.d.fail(inner.at(name), "%s: expected text in quotes for %q, got %s", key, name,
				show(inner.values[name]))
			continue
		}
		out[name] = s
	}
	return out
}

// sources finds the files that readers are shown: those that the file names, or the one that is
// named after the service.
func (t *table) sources(m *Model, files []string) []string {
	if t.has("source") {
		named := t.texts("source", true)
		for i, name := range named {
			// another service's is looked for later
			if !slices.Contains(files, name) && !strings.HasPrefix(name, "../") {
				t.d.fail(t.atItem("source", i), "source: there is no file %q beside model.toml",
					name)
			}
		}
		if t.empty("source") {
			t.fail("source",
				"is empty: leave it out to take the file that is named after the service")
		}
		return named
	}
	t.get("source")
	var found []string
	for _, name := range files {
		base := strings.TrimSuffix(name, filepath.Ext(name))
		if strings.EqualFold(base, m.Service) && filepath.Ext(name) != "" {
			found = append(found, name)
		}
	}
	// A file that a compiler left beside a source (echo.beam) is none.
	known := func(name string) bool { _, ok := notations[filepath.Ext(name)]; return ok }
	if slices.ContainsFunc(found, known) {
		found = slices.DeleteFunc(found, func(name string) bool { return !known(name) })
	}
	switch len(found) {
	case 0:
		t.d.fail(0,
			"no source: expected a file named after the service, such as %s.c, or the key source",
			m.Service)
	case 1:
	default:
		t.d.fail(0, "which of %s is the source? name it with the key source",
			strings.Join(found, ", "))
	}
	return found
}

// VariantOf is the model of the same service that has all of this one's source, or nothing: the two
// are one program that is built or started in two ways.
func (m *Model) VariantOf() string {
	of := ""
	for _, file := range m.Source {
		rest, beside := strings.CutPrefix(filepath.ToSlash(file), "../")
		name, _, _ := strings.Cut(rest, "/")
		if !beside || name == ".." || of != "" && name != of {
			return ""
		}
		of = name
	}
	return of
}
