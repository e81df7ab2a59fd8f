package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/document"
)

// shells write the completion of the command for a shell.
var shells = map[string]func(io.Writer, []completed){
	"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion,
}

// A completed is a command with the words that may stand behind it.
type completed struct {
	command
	flags []*flag.Flag
	names []string // that are no files: codes of errors, modules
	files bool     // texts of Eve
}

func runCompletion(c *call) error {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	if len(c.args) != 1 || shells[c.args[0]] == nil {
		return usage("name a shell: bash, zsh or fish")
	}
	var all []completed
	for _, cmd := range commands {
		all = append(all, completedOf(cmd))
	}
	shells[c.args[0]](c.stdout, all)
	return nil
}

// completedOf asks a command for its help, since it declares its flags when it runs.
func completedOf(cmd command) completed {
	asked := &call{cmd: cmd, args: []string{"--help"}, stdout: io.Discard, stderr: io.Discard}
	_ = cmd.run(asked) // flag.ErrHelp
	w := completed{command: cmd, files: strings.Contains(cmd.args, "FILE")}
	asked.flags.VisitAll(func(f *flag.Flag) { w.flags = append(w.flags, f) })
	switch cmd.name {
	case "explain":
		w.names = diag.Codes()
	case "doc":
		for _, m := range document.Library() {
			w.names = append(w.names, m.Name)
		}
	case "completion":
		for name := range shells {
			w.names = append(w.names, name)
		}
		slices.Sort(w.names)
	}
	return w
}

// dashed is a flag as it is written.
func dashed(f *flag.Flag) string {
	if len(f.Name) == 1 {
		return "-" + f.Name
	}
	return "--" + f.Name
}

func bashCompletion(w io.Writer, all []completed) {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	fmt.Fprintf(w, `# Completion of eve for bash, written by 'eve completion bash'.
_eve() {
	local word=${COMP_WORDS[COMP_CWORD]} flags='' names='' files=''
	if [ "$COMP_CWORD" -eq 1 ]; then
		names='%s help'
	else
		case ${COMP_WORDS[1]} in
		help) names='%[1]s' ;;
`, strings.Join(names, " "))
	for _, c := range all {
		flags := []string{"--help"}
		for _, f := range c.flags {
			flags = append(flags, dashed(f))
		}
		files := ""
		if c.files {
			files = "yes"
		}
		fmt.Fprintf(w, "\t\t%s) flags='%s' names='%s' files='%s' ;;\n", c.name,
			strings.Join(flags, " "), strings.Join(c.names, " "), files)
	}
	fmt.Fprint(w, `		esac
	fi
	case $word in
	-*) names=$flags files='' ;;
	esac
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "${names// /$'\n'}" -- "$word"))
	if [ -n "$files" ]; then
		COMPREPLY+=($(compgen -f -X '!*.eve' -- "$word") $(compgen -d -- "$word"))
	fi
}
complete -o default -o filenames -F _eve eve
`)
}

func zshCompletion(w io.Writer, all []completed) {
	fmt.Fprint(w, `#compdef eve
# Completion of eve for zsh, written by 'eve completion zsh'.
_eve() {
	local -a commands
	commands=(
`)
	for _, c := range all {
		fmt.Fprintf(w, "\t\t%s\n", inQuotes(c.name+":"+c.short))
	}
	fmt.Fprint(w, `		'help:list the commands, or the flags of one'
	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	shift words
	(( CURRENT-- ))
	case $words[1] in
	help) _describe command commands ;;
`)
	for _, c := range all {
		var specs []string
		for _, f := range c.flags {
			value, text := flag.UnquoteUsage(f)
			spec := dashed(f) + "[" + forZsh.Replace(text) + "]"
			switch value {
			case "":
			case "file", "OUT", "NAME":
				spec += ":" + value + ":_files"
			default:
				spec += ":" + value + ": "
			}
			specs = append(specs, inQuotes(spec))
		}
		switch {
		case len(c.names) > 0 && c.files:
			specs = append(specs, inQuotes("*: :{ compadd "+strings.Join(c.names, " ")+
				`; _files -g "*.eve" }`))
		case len(c.names) > 0:
			specs = append(specs, inQuotes("*: :("+strings.Join(c.names, " ")+")"))
		case c.files:
			specs = append(specs, inQuotes(`*:file:_files -g "*.eve"`))
		default:
			specs = append(specs, inQuotes("*:file:_files"))
		}
		fmt.Fprintf(w, "\t%s) _arguments %s ;;\n", c.name, strings.Join(specs, " "))
	}
	fmt.Fprint(w, "\tesac\n}\n_eve \"$@\"\n")
}

// forZsh makes a text fit into the brackets of a specification.
var forZsh = strings.NewReplacer("[", "(", "]", ")", `\`, `\\`)

func fishCompletion(w io.Writer, all []completed) {
	fmt.Fprint(w, "# Completion of eve for fish, written by 'eve completion fish'.\n"+
		"complete -c eve -n __fish_use_subcommand -f -a help "+
		"-d 'list the commands, or the flags of one'\n")
	for _, c := range all {
		fmt.Fprintf(w, "complete -c eve -n '__fish_use_subcommand; or __fish_seen_subcommand_from "+
			"help' -f -a %s -d %s\n", c.name, inQuotes(c.short))
		behind := "complete -c eve -n '__fish_seen_subcommand_from " + c.name + "'"
		for _, f := range c.flags {
			name, what := "-l", ""
			if len(f.Name) == 1 {
				name = "-s"
			}
			value, text := flag.UnquoteUsage(f)
			if value != "" {
				what = " -r"
			}
			fmt.Fprintf(w, "%s %s %s%s -d %s\n", behind, name, f.Name, what, inQuotes(text))
		}
		if len(c.names) > 0 {
			only := ""
			if !c.files {
				only = " -f"
			}
			fmt.Fprintf(w, "%s%s -a %s\n", behind, only, inQuotes(strings.Join(c.names, " ")))
		}
	}
}

// inQuotes quotes a text for a shell. A quote in it becomes an apostrophe.
func inQuotes(text string) string { return "'" + strings.ReplaceAll(text, "'", "’") + "'" }
