// Command eve begins, checks, runs, builds, traces, profiles, tests, formats, explains and
// documents programs in Eve.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"interleave/internal/version"
)

// The exit codes. `eve run` passes on the exit code of the program.
const (
	// the program or a test has an error, or the command failed; standard error has the reason
	exitWrong = 1
	exitUsage = 2 // wrong command line
)

// A command is one word behind eve.
type command struct {
	name  string
	args  string // as the usage line shows them
	short string
	run   func(c *call) error
}

// commands are in the order in which a newcomer meets them. init fills them, since help lists
// them.
var commands []command

func init() {
	commands = []command{
		{"new", "FOLDER", "make a folder with a first program", runNew},
		{"check", "[--json] FILE...", "report the errors of programs", runCheck},
		{"run", "FILE [ARG...]",
			"compile a program with overflow checks, and run it with the arguments", runRun},
		{"build", "[flags] FILE", "compile an optimised program", runBuild},
		{"gdb", "FILE [ARG...]", "compile a program for gdb, and start it there", runGdb},
		{"trace", "[-o NAME] [--events N] FILE [ARG...]",
			"run a program, and show who waited for which object, and who held it", runTrace},
		{"profile", "[-o NAME] [--rate N] FILE [ARG...]",
			"run a program, and show where its time goes, by task and handler", runProfile},
		{"test", "[--run REGEXP] [--list | --seeds N | --seed N] [--update] FILE...",
			"run the tests of programs", runTest},
		{"fmt", "[-w | --check] FILE...", "format programs", runFmt},
		{"lsp", "", "serve an editor over standard input and output", runLsp},
		{"explain", "[CODE]", "describe an error, or list all", runExplain},
		{"doc", "[--html FILE | --markdown FILE] [NAME | FILE.eve]...",
			"show the documentation of the library, or of a file", runDoc},
		{"completion", "bash | zsh | fish", "write the completion of eve for a shell",
			runCompletion},
		{"version", "", "print the version", runVersion},
	}
}

// A call is one run of a command, with its input and output passed in.
type call struct {
	ctx    context.Context
	cmd    command
	flags  *flag.FlagSet
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	args   []string
}

// A status is an error that was reported already: only the exit code is left.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// A usage is an error on the command line.
type usage string

func (u usage) Error() string { return string(u) }

func main() {
	os.Exit(realMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func realMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 0 {
		help(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "--help", "-help":
		if len(args) == 1 {
			help(stdout)
			return 0
		}
		args = []string{args[1], "--help"} // eve help run
	case "--version", "-version":
		args[0] = "version"
	}
	for _, cmd := range commands {
		if cmd.name == args[0] {
			out := &output{w: stdout}
			c := &call{ctx: ctx, cmd: cmd, stdin: stdin, stdout: out, stderr: stderr,
				args: args[1:]}
			if err := cmd.run(c); err != nil {
				return c.finish(err)
			}
			return c.finish(out.err)
		}
	}
	fmt.Fprintf(stderr, "eve: there is no command %q; %s\n", args[0], meant(args[0]))
	return exitUsage
}

// meant suggests a command for an unknown word.
func meant(word string) string {
	if strings.HasSuffix(word, ".eve") {
		return "`eve run " + word + "` runs a program"
	}
	letters := func(s string) string {
		b := []byte(s)
		slices.Sort(b)
		return string(b)
	}
	for _, c := range commands {
		if word != "" && (letters(c.name) == letters(word) || strings.HasPrefix(c.name, word)) {
			return "did you mean `eve " + c.name + "`?"
		}
	}
	return "`eve help` lists them"
}

// finish reports err and returns the exit code.
func (c *call) finish(err error) int {
	var s status
	var u usage
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &u):
		fmt.Fprintf(c.stderr, "eve %s: %v; `eve %s --help` says more\n", c.cmd.name, err,
			c.cmd.name)
		return exitUsage
	case errors.Is(err, context.Canceled):
		return 130 // the status of a shell for a command that Ctrl-C ended
	}
	fmt.Fprintf(c.stderr, "eve: %v\n", err)
	return exitWrong
}

func help(w io.Writer) {
	fmt.Fprint(w,
		"Eve: everything is a value owned by one place, except T@, a shared object.\n\nUsage: "+
			"eve COMMAND\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.short)
	}
	fmt.Fprint(w,
		"\nA FILE - is standard input. `eve COMMAND --help` lists the flags of a command.\n")
}

// parse parses the flags that define declares.
func (c *call) parse(define func(*flag.FlagSet)) error {
	c.flags = flag.NewFlagSet(c.cmd.name, flag.ContinueOnError)
	c.flags.SetOutput(io.Discard)
	define(c.flags)
	err := c.flags.Parse(c.args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(c.stdout, "Usage: eve %s %s\n\n%s.\n", c.cmd.name, c.cmd.args,
			sentence(c.cmd.short))
		c.flags.SetOutput(c.stdout)
		c.flags.VisitAll(func(f *flag.Flag) {
			dash := "--"
			if len(f.Name) == 1 {
				dash = "-"
			}
			name, text := flag.UnquoteUsage(f)
			fmt.Fprintf(c.stdout, "  %-18s %s\n", dash+f.Name+after(name), text)
		})
		return flag.ErrHelp
	}
	if err != nil {
		if _, flag, found := strings.Cut(err.Error(), "flag provided but not defined: -"); found {
			return usage("there is no flag --" + flag)
		}
		return usage(err.Error())
	}
	c.args = c.flags.Args()
	return nil
}

func after(name string) string {
	if name == "" {
		return ""
	}
	return " " + name
}

func sentence(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// spread parses flags behind the files too: `eve build a.eve -o a`.
func (c *call) spread(define func(*flag.FlagSet)) error {
	var files []string
	for {
		if err := c.parse(define); err != nil {
			return err
		}
		if len(c.args) == 0 {
			c.args = files
			return nil
		}
		files = append(files, c.args[0])
		c.args = c.args[1:]
	}
}

func runVersion(c *call) error {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "eve %s\n", version.String())
	return nil
}
