package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A testPackage is a package that has tests.
type testPackage struct {
	path string // to import it
	dir  string // from the root, with slashes
}

// A job is one run of a package's test program.
type job struct {
	ring  string
	order int // of the ring
	pkg   testPackage
	race  bool
	tests string // -test.run; "": all
	skip  string // -test.skip
	args  []string
	alone bool // nothing else runs beside it
	// only if the package starts goroutines; plan removes the job otherwise
	concurrent bool
	parallel   int           // tests at the same time; 0: testsAtOnce
	expected   time.Duration // the time that it took last
}

// name identifies a job.
func (j *job) name() string {
	return strings.Join(append([]string{j.ring, j.pkg.dir, j.tests}, j.args...), " ")
}

// listPackages asks go for the packages that have tests, in all modules of the checkout's
// workspace.
func listPackages(ctx context.Context, root string) ([]testPackage, error) {
	const form = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}`
	out, err := goOutput(ctx, root, "list", "-f", form, "work")
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	var packages []testPackage
	for line := range strings.Lines(string(out)) {
		name, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		rel, err := filepath.Rel(real, dir)
		if err != nil {
			return nil, err
		}
		packages = append(packages, testPackage{path: name, dir: filepath.ToSlash(rel)})
	}
	if len(packages) == 0 {
		return nil, errors.New("no package of the checkout has tests")
	}
	return packages, nil
}

// goOutput runs go in the checkout and returns its standard output.
func goOutput(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, said.Bytes())
	}
	return out.Bytes(), nil
}

// programs builds the test programs of packages and returns their paths, by the package's folder.
// go does not link unchanged programs again, nor those that another checkout has built.
func programs(ctx context.Context, o Options, packages []testPackage,
	race bool) (map[string]string, error) {
	variant := "plain"
	if race {
		variant = "race"
	}
	shared := func(p testPackage) string {
		return filepath.Join(o.Shared, variant, filepath.FromSlash(p.path)+".test")
	}
	where := map[string]string{}
	for n, bucket := range buckets(packages) {
		dir := filepath.Join(Out(o.Root), variant, strconv.Itoa(n))
		args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", dir + "/"}
		if race {
			args = append(args, "-race")
		}
		for _, p := range bucket {
			args = append(args, "./"+p.dir)
			where[p.dir] = filepath.Join(dir, path.Base(p.path)+".test")
			if o.Shared != "" {
				takeShared(ctx, shared(p), where[p.dir])
			}
		}
		if _, err := goOutput(ctx, o.Root, args...); err != nil {
			return nil, fmt.Errorf("building the tests: %w", err)
		}
	}
	if o.Shared != "" {
		for _, p := range packages {
			putShared(ctx, where[p.dir], shared(p))
		}
		forgetShared(o.Shared)
	}
	return where, nil
}

// buckets divides packages so that no two of a bucket have programs of the same name.
func buckets(packages []testPackage) (all [][]testPackage) {
	seen := map[string]int{}
	for _, p := range packages {
		n := seen[path.Base(p.path)]
		seen[path.Base(p.path)]++
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], p)
	}
	return all
}

// repeat is the line that runs one test of the job again.
func (j *job) repeat(test string) string {
	line := "go test ./" + j.pkg.dir + " -count=1"
	if j.race {
		line = "CGO_ENABLED=1 " + line + " -race"
	}
	if test != "" {
		line += " -run '" + pattern(test) + "'"
	}
	if len(j.args) > 0 {
		line += " -args " + strings.Join(j.args, " ")
	}
	return line
}

// pattern matches one test, with its parts.
func pattern(test string) string {
	var parts []string
	for part := range strings.SplitSeq(test, "/") {
		parts = append(parts, "^"+quoteTest(part)+"$")
	}
	return strings.Join(parts, "/")
}

// quoteTest makes a pattern of a test's name, for a shell's single quotes.
func quoteTest(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case strings.ContainsRune(`\.+*?()|[]{}^$`, c):
			b.WriteRune('\\')
			b.WriteRune(c)
		case c == '\'':
			b.WriteRune('.')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
