package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"interleave/eve/build"
	"interleave/eve/diag"
	"interleave/eve/emit"
	"interleave/eve/ir"
	"interleave/eve/syntax"
)

// buildFlags are those of eve build.
type buildFlags struct {
	out      string
	checked  bool
	emitCpp  bool
	emitIR   bool
	emitTree bool
	sanitize string
	debug    bool
	jobs     int
}

func runBuild(c *call) error {
	var b buildFlags
	err := c.spread(func(f *flag.FlagSet) {
		f.StringVar(&b.out, "o", b.out, "write the program to `OUT` (the file's name without .eve)")
		f.BoolVar(&b.checked, "checked", b.checked, "fail on overflow, which otherwise wraps")
		f.BoolVar(&b.emitCpp, "emit-cpp", b.emitCpp,
			"write the C++ to standard output instead, or into the folder OUT")
		f.BoolVar(&b.emitIR, "emit-ir", b.emitIR,
			"write the checked program to standard output instead")
		f.BoolVar(&b.emitTree, "emit-tree", b.emitTree,
			"write the syntax tree of the file to standard output instead")
		f.StringVar(&b.sanitize, "sanitize", b.sanitize,
			"build with g++'s sanitizer `KIND`: address or thread")
		f.BoolVar(&b.debug, "g", b.debug, "build for gdb: not optimised")
		f.IntVar(&b.jobs, "j", b.jobs,
			"run `N` compilers at a time (as many as there are processors)")
	})
	switch {
	case err != nil:
		return err
	case len(c.args) != 1:
		return usage("name one file")
	case b.sanitize != "" && b.sanitize != "address" && b.sanitize != "thread":
		return usage("--sanitize is address or thread")
	}
	if b.emitTree {
		return c.writeTree(c.args[0])
	}
	p, err := c.load(c.args[0])
	if err != nil {
		return err
	}
	if b.emitIR {
		_, err := fmt.Fprint(c.stdout, ir.Dump(p))
		return err
	}
	if err := needMain(p, c.args[0]); err != nil {
		return err
	}
	units, err := emit.Program(p, emit.Options{Checked: b.checked, Debug: b.debug})
	if err != nil {
		return err
	}
	if b.emitCpp {
		return c.writeUnits(units, b.out)
	}
	if b.out, err = outOf(c.args[0], b.out); err != nil {
		return err
	}
	_, err = build.Build(c.ctx, units, build.Options{Out: b.out, Optimise: !b.debug,
		Sanitize: b.sanitize, Debug: b.debug, Jobs: b.jobs, Note: c.note()})
	return err
}

// outOf returns the name of the program for file, and ensures that it overwrites no source.
func outOf(file, out string) (string, error) {
	if out == "" && file == "-" {
		return "", usage("name the program with -o")
	}
	if out == "" {
		out = strings.TrimSuffix(filepath.Base(file), ".eve")
	}
	main, mainErr := os.Stat(file)
	info, outErr := os.Stat(out)
	if mainErr == nil && outErr == nil && os.SameFile(main, info) {
		return "", fmt.Errorf("%s would overwrite its own source; choose another name with -o", out)
	}
	if outErr == nil && info.IsDir() {
		return "", fmt.Errorf("%s is a folder; choose another name with -o", out)
	}
	return out, nil
}

// writeUnits writes the C++ of a program.
func (c *call) writeUnits(units []emit.Unit, dir string) error {
	if dir == "" {
		for _, u := range units {
			fmt.Fprint(c.stdout, withoutLines(u.Text))
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, u := range units {
		if err := os.WriteFile(filepath.Join(dir, u.Name), []byte(u.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeTree writes the syntax tree of a file.
func (c *call) writeTree(name string) error {
	main, err := c.readMain(name)
	if err != nil {
		return err
	}
	var diags diag.List
	tree := syntax.Parse(main, &diags)
	c.show(c.stderr, diags.Sorted())
	if diags.HasErrors() {
		return status(exitWrong)
	}
	_, err = fmt.Fprint(c.stdout, syntax.Dump(tree))
	return err
}

// note returns a function that tells a user at a terminal about steps that take long.
func (c *call) note() func(string) {
	if width(c.stderr) == 0 {
		return nil
	}
	return func(text string) { fmt.Fprintf(c.stderr, "eve: %s\n", text) }
}

// withoutLines removes lines that only the debugger reads.
func withoutLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#line ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func runRun(c *call) error {
	program, err := c.ready(build.Options{})
	if err != nil {
		return err
	}
	return execute(program, c.args)
}

// runGdb starts gdb with the program, and allows the script in the program to run.
func runGdb(c *call) error {
	program, err := c.ready(build.Options{Debug: true})
	if err != nil {
		return err
	}
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return errors.New("no gdb found: apt-get install gdb")
	}
	return execute(gdb, append([]string{"gdb", "-iex", "add-auto-load-safe-path " + program,
		"--args", program}, c.args[1:]...))
}

// ready builds the program of the command's file: with overflow checks, in the cache.
func (c *call) ready(o build.Options) (string, error) {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return "", err
	}
	if len(c.args) == 0 {
		return "", usage("name a file")
	}
	p, err := c.load(c.args[0])
	if err != nil {
		return "", err
	}
	if err := needMain(p, c.args[0]); err != nil {
		return "", err
	}
	units, err := emit.Program(p, emit.Options{Checked: true, Debug: true})
	if err != nil {
		return "", err
	}
	o.Note = c.note()
	return build.Build(c.ctx, units, o)
}
