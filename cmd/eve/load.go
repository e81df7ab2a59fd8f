package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"interleave/eve/check"
	"interleave/eve/compile"
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// readMain reads the main file of a program, or standard input for -. Common errors get a message
// of their own.
func (c *call) readMain(name string) (*source.File, error) {
	if name == "-" {
		text, err := io.ReadAll(c.stdin)
		if err != nil {
			return nil, err
		}
		return source.NewFile("standard input", string(text)), nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(name) != ".eve" && exists(name+".eve"):
		return nil, fmt.Errorf("there is no file %s; did you mean %s.eve?", name, name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", name)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; name the file that has main", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s is not a text: it has bytes that are 0", name)
	}
	return source.NewFile(name, string(text)), nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// loader finds modules by their path below the folder of the main file: a.b is a/b.eve.
func loader(main string) check.Loader {
	dir := filepath.Dir(main)
	return func(module string) (*source.File, bool) {
		name := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))+".eve")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, false
		}
		return source.NewFile(name, string(text)), true
	}
}

// load reads and checks one program. It writes errors to standard error.
func (c *call) load(name string) (*ir.Program, error) {
	main, err := c.readMain(name)
	if err != nil {
		return nil, err
	}
	p, diags := compile.Check(main, loader(name))
	c.show(c.stderr, diags)
	if wrong(diags) {
		return nil, status(exitWrong)
	}
	return p, nil
}

func wrong(diags []diag.Diagnostic) bool {
	for _, d := range diags {
		if d.Code.IsError() {
			return true
		}
	}
	return false
}

// show writes diagnostics for a user.
func (c *call) show(w io.Writer, diags []diag.Diagnostic) {
	// If the terminal has gone there is nowhere to report that.
	_ = diag.Render(w, diags, diag.Options{Color: colour(w), Width: width(w)})
}

// needMain explains how to add a main to a program without one.
func needMain(p *ir.Program, name string) error {
	if p.Main != nil {
		return nil
	}
	if name == "-" {
		name = "standard input"
	}
	return fmt.Errorf("%s has no main; add `main: () void:`", name)
}
