package prove

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// rememberFor is the lifetime of a result. A key cannot describe a machine completely, so results
// expire. A week is a guess.
const rememberFor = 7 * 24 * time.Hour

// toolsFile has the lines of toolchains.sh: the tools and their versions.
const toolsFile = "out/tools/versions"

// A host is the part of a key that describes the machine and the program that runs the tests.
type host struct {
	// a file that lists the installed packages of the system, with their versions
	packages string
	runner   string // the program that runs the tests
	facts    string // about the machine and the user
	now      func() time.Time
}

// thisHost is the machine that this program runs on.
func thisHost() (*host, error) {
	runner, err := os.Executable()
	return &host{"/var/lib/dpkg/status", runner, machineFacts("/proc"), time.Now}, err
}

// A Key is everything that a result depends on, as hashes by the names of its parts.
// docs/testing.md explains each name.
type Key map[string]string

// The parts of a key.
const (
	partProgram     = "the test program"
	partArguments   = "its arguments"
	partFiles       = "the files that it may read"
	partTools       = "the tools and their versions"
	partPackages    = "the system's packages"
	partEnvironment = "the environment"
	partMachine     = "the machine"
	partRunner      = "the program that runs the tests"
)

// A remembered is one successful result.
type remembered struct {
	Key    Key
	Result Result
	At     time.Time
}

// A memory knows which jobs have passed, and with which key. Any goroutine may use it.
type memory struct {
	root   string
	dir    string
	host   *host
	shared Key // the parts that are the same for all jobs

	tree *tree // the files of the checkout
	mu   sync.Mutex
	seen map[string]string // hashes of lists of files, by the list
}

// openMemory reads the common parts of all keys: the checkout's files, tools, environment, machine.
func openMemory(ctx context.Context, root string, h *host) (*memory, error) {
	m := &memory{root: root, dir: filepath.Join(Out(root), "memory"), host: h,
		seen: map[string]string{}}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if m.tree, err = readTree(ctx, root); err != nil {
		return nil, err
	}
	m.shared = Key{partEnvironment: hashText(environment(os.Environ())),
		partMachine: hashText(h.facts)}
	for part, file := range map[string]string{
		partTools: filepath.Join(root, toolsFile), partPackages: h.packages, partRunner: h.runner} {
		if m.shared[part], err = hashOf(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if m.shared[partPackages] == "" { // the system does not tell, so they may be others each time
		m.shared[partPackages] = hashText(rand.Text())
	}
	return m, nil
}

// keyOf returns the key of a job whose test program was built.
func (m *memory) keyOf(j *job, program string, reads []string) (Key, error) {
	key := Key{partFiles: m.hashReads(reads),
		partArguments: hashText(fmt.Sprintf("%q %q %q", j.tests, j.skip, j.args))}
	for part, hash := range m.shared {
		key[part] = hash
	}
	var err error
	key[partProgram], err = hashOf(program)
	return key, err
}

// recall returns the result of a job that passed with this key, or the parts of the key that differ
// from the last one that passed.
func (m *memory) recall(j *job, key Key) (*Result, []string) {
	text, err := os.ReadFile(m.file(j))
	if err != nil {
		return nil, nil
	}
	var last remembered
	if err := json.Unmarshal(text, &last); err != nil {
		return nil, nil // cut short by a full disk, perhaps: the tests run
	}
	var changed []string
	for part, hash := range key {
		if last.Key[part] != hash {
			changed = append(changed, part)
		}
	}
	if len(key) != len(last.Key) {
		changed = append(changed, "the parts of the key")
	}
	if age := m.host.now().Sub(last.At); age < 0 || age > rememberFor {
		changed = append(changed, "the week")
	}
	if slices.Sort(changed); len(changed) > 0 {
		return nil, changed
	}
	last.Result.Remembered = true
	return &last.Result, nil
}

// remember keeps a successful result. A failure removes the earlier success.
func (m *memory) remember(j *job, key Key, result *Result) error {
	if !result.steady() {
		err := os.Remove(m.file(j))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return writeJSON(m.file(j), remembered{key, *result, m.host.now()})
}

func (m *memory) file(j *job) string {
	return filepath.Join(m.dir, hashText(j.name())[:24]+".json")
}

// hashReads returns the hash of those files of the checkout that are listed, or are below a listed
// folder. An empty list means all files.
func (m *memory) hashReads(reads []string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := strings.Join(reads, "\n")
	if hash, ok := m.seen[id]; ok {
		return hash
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.tree.files)) {
		if covered(reads, name) {
			fmt.Fprintf(h, "%s %s\n", name, m.tree.files[name].hash)
		}
	}
	m.seen[id] = hex.EncodeToString(h.Sum(nil))
	return m.seen[id]
}

// covered tells whether a file is listed, or is below a listed folder. An empty list means all.
func covered(reads []string, name string) bool {
	return len(reads) == 0 ||
		slices.ContainsFunc(reads, func(r string) bool { return isWithin(r, name) })
}

// isWithin tells whether a path is one that a pattern matches (path.Match), or is below one.
func isWithin(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return name == pattern || strings.HasPrefix(name, pattern+"/")
	}
	depth := strings.Count(pattern, "/") + 1
	words := strings.SplitN(name, "/", depth+1)
	if len(words) < depth {
		return false
	}
	within, _ := path.Match(pattern, strings.Join(words[:depth], "/")) // LoadRings checks patterns
	return within
}

// unlisted returns the checkout's files that a test program opened though its package does not list
// them, from the log that package testing writes (-test.testlogfile).
func (m *memory) unlisted(log, dir string, reads []string) (names []string, err error) {
	if len(reads) == 0 {
		return nil, nil
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(m.root, filepath.FromSlash(dir))
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		verb, file, ok := strings.Cut(lines.Text(), " ")
		if !ok || verb != "open" && verb != "stat" && verb != "chdir" {
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(at, file)
		}
		if verb == "chdir" {
			at = file
		}
		name, err := filepath.Rel(m.root, file)
		name = filepath.ToSlash(name)
		if _, ours := m.tree.files[name]; err == nil && ours && !covered(reads, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), lines.Err()
}

// environment is the part of the environment that tests may depend on, sorted: all variables but
// those of a terminal, a login or a call of make.
func environment(all []string) string {
	session := []string{"_", "COLUMNS", "DISPLAY", "FRESH", "INVOCATION_ID", "LINES", "LS_COLORS",
		"MAKEFLAGS",
		"MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "OLDPWD", "PWD", "SHLVL", "TERM", "TERM_PROGRAM",
		"TMUX", "TMUX_PANE", "WINDOWID", "XDG_SESSION_ID", "SSH_AUTH_SOCK", "SSH_CLIENT",
		"SSH_CONNECTION", "SSH_TTY", "COLORTERM"}
	var kept []string
	for _, setting := range all {
		if name, _, _ := strings.Cut(setting, "="); !slices.Contains(session, name) {
			kept = append(kept, setting)
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, "\n")
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func hashOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
