package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"interleave/eve/build"
	"interleave/eve/diag"
	"interleave/eve/format"
)

func runFmt(c *call) error {
	var write, check bool
	err := c.spread(func(f *flag.FlagSet) {
		f.BoolVar(&write, "w", write, "write the files instead of standard output")
		f.BoolVar(&check, "check", check,
			"write nothing; name the files that are not formatted, and fail")
	})
	switch {
	case err != nil:
		return err
	case len(c.args) == 0:
		return usage("name a file, or - for standard input")
	case write && check:
		return usage("-w and --check do not go together")
	}
	unformatted := false
	for _, name := range c.args {
		same, err := c.formatOne(name, write, check)
		if err != nil {
			return err
		}
		unformatted = unformatted || !same
	}
	if check && unformatted {
		return status(exitWrong)
	}
	return nil
}

// formatOne formats one file, and says whether it was formatted already.
func (c *call) formatOne(name string, write, check bool) (same bool, err error) {
	file, err := c.readMain(name)
	if err != nil {
		return false, err
	}
	var diags diag.List
	text, ok := format.File(file, &diags)
	if !ok {
		c.show(c.stderr, diags.Sorted())
		return false, status(exitWrong)
	}
	same = text == file.Text
	switch {
	case check && !same:
		fmt.Fprintln(c.stdout, name)
	case check || write && same:
	case write && name != "-":
		return same, replace(name, text)
	default:
		fmt.Fprint(c.stdout, text)
	}
	return same, nil
}

// replace changes a file in one step, and keeps its mode.
func replace(name, text string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return create(name, text, info.Mode().Perm())
}

// create writes a file, which appears whole or not at all. A file of that name is replaced.
func create(name, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".eve-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, build.Cause(err))
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, build.Cause(err))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("writing %s: %w", name, build.Cause(err))
	}
	return nil
}
