package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"interleave/eve/build"
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

// projectName is what a program and a module may be called.
var projectName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func runNew(c *call) error {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	if len(c.args) != 1 {
		return usage("name one folder")
	}
	folder := c.args[0]
	name, err := programOf(folder)
	if err != nil {
		return err
	}
	made := os.Mkdir(folder, 0o777)
	if made != nil && !vacant(folder) {
		if errors.Is(made, fs.ErrExist) {
			return fmt.Errorf("%s is there already, and not empty", folder)
		}
		return fmt.Errorf("making the folder %s: %w", folder, build.Cause(made))
	}
	if err := writeProject(folder, name); err != nil {
		if made == nil {
			_ = os.Remove(folder) // it stays if somebody else has put a file into it meanwhile
		}
		return err
	}
	fmt.Fprintf(c.stdout, "%s has a program and a module with a test. Next:\n", folder)
	if filepath.Clean(folder) != "." {
		fmt.Fprintf(c.stdout, "  cd %s\n", folder)
	}
	fmt.Fprintf(c.stdout, "  eve run %[1]s.eve\n  eve test %[1]s.eve greeting.eve\n"+
		"  eve build %[1]s.eve\n", name)
	return nil
}

// programOf is the name of the program in a folder: that of the folder in small letters, with _ for
// all that a name may not have.
func programOf(folder string) (string, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	base := filepath.Base(whole)
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	name := strings.Join(words, "_")
	if !projectName.MatchString(name) || name == "greeting" {
		return "", fmt.Errorf("%q cannot be the name of a program: use letters from a to z, "+
			"digits and _", base)
	}
	return name, nil
}

// writeProject writes the files of a new program. If one of them cannot be written, none is left.
// One that is there stays: vacant has seen no other than hidden ones.
func writeProject(folder, name string) error {
	var written []string
	for _, f := range project {
		file := filepath.Join(folder, strings.ReplaceAll(f.name, "NAME", name))
		if exists(file) {
			continue
		}
		if err := create(file, strings.ReplaceAll(f.text, "NAME", name), newMode); err != nil {
			for _, file := range written {
				err = errors.Join(err, os.Remove(file))
			}
			return err
		}
		written = append(written, file)
	}
	return nil
}

// vacant says whether a folder is there and has nothing in it but hidden files, as those of git.
func vacant(folder string) bool {
	files, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), ".") {
			return false
		}
	}
	return true
}
