package prove

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// RingsFile is the table, from the checkout's root.
const RingsFile = "internal/prove/rings.toml"

// Rings is the table of rings.toml: the rings of tests, and the files that their packages read.
type Rings struct {
	Ring  []Ring  `toml:"ring"`
	Part  []Part  `toml:"part"`
	Reads []Reads `toml:"reads"`
	// by ring, and in it by package and arguments: about how long a long job takes
	Seconds map[string]map[string]int `toml:"seconds"`
}

// A Ring is a set of tests that is run as one.
type Ring struct {
	Name  string `toml:"name"`
	About string `toml:"about"` // one line, which `make help` shows
}

// A Part puts tests of some packages into a ring.
type Part struct {
	Ring     string   `toml:"ring"`
	Packages []string `toml:"packages"` // patterns of path.Match, from the root
	Except   []string `toml:"except"`   // packages that are left out
	Tests    []string `toml:"tests"`    // patterns as those of go test -run; none: all tests
	Skip     []string `toml:"skip"`     // patterns as those of go test -skip
	Args     []string `toml:"args"`     // after -args
	Race     bool     `toml:"race"`     // built with the race detector
	// Packages that start no goroutine are left out (see inspector): the race detector sees nothing
	// in them.
	Concurrent bool `toml:"concurrent"`
	Moved      bool `toml:"moved"` // the first ring leaves these tests out
	// nothing else runs beside them: they are a load for the machine
	Alone    bool   `toml:"alone"`
	Parallel int    `toml:"parallel"` // as of go test -parallel; 0: 4
	Why      string `toml:"why"`
}

// Reads lists the files and folders that the tests of some packages depend on, besides their
// program. The tests of a package without an entry may read the whole checkout.
type Reads struct {
	Packages []string `toml:"packages"`
	Files    []string `toml:"files"` // files or folders, from the root, as path.Match has them
}

// LoadRings reads and checks the table.
func LoadRings(file string) (*Rings, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the table of rings: %w", err)
	}
	var r Rings
	decoder := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &r, nil
}

func (r *Rings) check() error {
	if len(r.Ring) == 0 {
		return fmt.Errorf("expected at least one ring")
	}
	for _, ring := range r.Ring {
		if ring.Name == "" || ring.About == "" {
			return fmt.Errorf("ring %q: expected a name and a line about it", ring.Name)
		}
	}
	for n, p := range r.Part {
		where := fmt.Sprintf("part %d (%s, %s)", n+1, p.Ring, strings.Join(p.Packages, " "))
		switch {
		case r.ring(p.Ring) == nil:
			return fmt.Errorf("%s: no ring %q", where, p.Ring)
		case len(p.Packages) == 0:
			return fmt.Errorf("%s: expected packages", where)
		case p.Why == "":
			return fmt.Errorf("%s: expected why", where)
		case p.Moved && len(p.Tests) == 0:
			return fmt.Errorf("%s: expected the tests that are moved", where)
		case p.Moved && p.Ring == r.Ring[0].Name:
			return fmt.Errorf("%s: the first ring cannot be moved from", where)
		}
		for _, pattern := range slices.Concat(p.Tests, p.Skip) {
			if _, err := regexp.Compile(pattern); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
		for _, pattern := range slices.Concat(p.Packages, p.Except) {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("%s: %q: %w", where, pattern, err)
			}
		}
	}
	for _, entry := range r.Reads {
		for _, pattern := range entry.Files {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("reads of %v: %q: %w", entry.Packages, pattern, err)
			}
		}
	}
	for ring := range r.Seconds {
		if r.ring(ring) == nil {
			return fmt.Errorf("seconds: no ring %q", ring)
		}
	}
	return nil
}

// has tells whether a package is one of the part's.
func (p *Part) has(dir string) bool {
	return matches(p.Packages, dir) && !matches(p.Except, dir)
}

func (r *Rings) ring(name string) *Ring {
	for i := range r.Ring {
		if r.Ring[i].Name == name {
			return &r.Ring[i]
		}
	}
	return nil
}

func (r *Rings) names() (names []string) {
	for _, ring := range r.Ring {
		names = append(names, ring.Name)
	}
	return names
}

// matches tells whether a package's path from the root matches one of the patterns, of which
// DIR/... matches all below DIR.
func matches(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = filepath.ToSlash(filepath.Clean(pattern))
		if below, ok := strings.CutSuffix(pattern, "..."); ok {
			below = strings.TrimSuffix(below, "/")
			return below == "" || dir == below || strings.HasPrefix(dir, below+"/")
		}
		ok, _ := path.Match(pattern, dir) // check has looked at the patterns of the table
		return ok
	})
}

// expected is about how long a job takes, for a checkout in which it has not run yet.
func (r *Rings) expected(j *job) time.Duration {
	name := strings.Join(append([]string{j.pkg.dir}, j.args...), " ")
	return time.Duration(r.Seconds[j.ring][name]) * time.Second
}

// jobs are the runs of test programs that make up a ring.
func (r *Rings) jobs(ring string, packages []testPackage) (jobs []*job) {
	if ring == r.Ring[0].Name {
		for _, p := range packages {
			jobs = append(jobs, &job{ring: ring, pkg: p, skip: r.moved(p.dir)})
		}
	}
	for _, part := range r.Part {
		if part.Ring != ring {
			continue
		}
		for _, p := range packages {
			if part.has(p.dir) {
				jobs = append(jobs, &job{ring: ring, pkg: p, race: part.Race, args: part.Args,
					alone: part.Alone, concurrent: part.Concurrent, parallel: part.Parallel,
					tests: strings.Join(part.Tests, "|"), skip: strings.Join(part.Skip, "|")})
			}
		}
	}
	return jobs
}

// moved is the pattern of a package's tests that the first ring leaves out.
func (r *Rings) moved(dir string) string {
	var patterns []string
	for _, part := range r.Part {
		if part.Moved && part.has(dir) {
			patterns = append(patterns, part.Tests...)
		}
	}
	return strings.Join(patterns, "|")
}

// reads are the files and folders that a package's tests may depend on; nil: all.
func (r *Rings) reads(dir string) (files []string) {
	for _, entry := range r.Reads {
		if matches(entry.Packages, dir) {
			files = append(files, entry.Files...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
