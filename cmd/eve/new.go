package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// project has the files of a new program. NAME stands for its name.
var project = []struct{ name, text string }{
	{"NAME.eve", `# NAME greets whom it is told to greet: eve run NAME.eve Ann

import greeting

main: [+stdout] () void:
    names: vector<string> = process.args()
    if names.empty(): names.push("world")
    for (name: string in names): print("%s\n", greeting.greet(name))
`},
	{"greeting.eve", `# How people are greeted.

# The greeting for one person.
pub greet: (name: string) string:
    return "Hello, " + name + "!"

test "greetings":
    assert greet("Ann") == "Hello, Ann!"
`},
	{".gitignore", "/NAME\n"},
}

// newMode is the mode of files that a command makes.
const newMode = 0o644

// projectName is what a file, a program and a module may be called.
var projectName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func runNew(c *call) error {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	if len(c.args) != 1 {
		return usage("name one folder")
	}
	folder := c.args[0]
	name := filepath.Base(folder)
	if !projectName.MatchString(name) || name == "greeting" {
		return fmt.Errorf("%q cannot be the name of a program: use letters from a to z, digits "+
			"and _", name)
	}
	if err := os.Mkdir(folder, 0o777); err != nil && !empty(folder) {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already, and not empty", folder)
		}
		return err
	}
	for _, f := range project {
		file := filepath.Join(folder, strings.ReplaceAll(f.name, "NAME", name))
		if err := create(file, strings.ReplaceAll(f.text, "NAME", name), newMode); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.stdout, `%[1]s has a program and a module with a test. Next:
  cd %[1]s
  eve run %[2]s.eve
  eve test %[2]s.eve greeting.eve
  eve build %[2]s.eve
`, folder, name)
	return nil
}

// empty says whether a folder is there and has nothing in it.
func empty(folder string) bool {
	d, err := os.Open(folder)
	if err != nil {
		return false
	}
	defer d.Close()
	_, err = d.Readdirnames(1)
	return errors.Is(err, io.EOF)
}
