package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"interleave/internal/manifest"
)

// laboratory is the checkout that a command works on.
type laboratory struct {
	rootFlag string
}

// root finds the checkout: the flag, or the nearest folder above that looks like one.
func (l *laboratory) root() (string, error) {
	if l.rootFlag != "" {
		return filepath.Abs(l.rootFlag)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if isDir(filepath.Join(d, "services")) && isDir(filepath.Join(d, "experiments")) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "",
				usage("no folder from %s upwards holds services/ and experiments/: change into "+
					"the checkout, or name it with --root", dir)
		}
	}
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// out is the folder of generated files.
func out(root string) string { return filepath.Join(root, "out") }

// runs is the folder of recorded runs.
func runs(root string) string { return filepath.Join(out(root), "runs") }

// tree loads the manifests; a wrong one ends the command before anything is started.
func (l *laboratory) tree() (*manifest.Tree, error) {
	root, err := l.root()
	if err != nil {
		return nil, err
	}
	tree, err := manifest.LoadTree(root)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	return tree, nil
}

// models resolves "SERVICE", "SERVICE/MODEL" and "/MODEL" words; none is all models.
func models(tree *manifest.Tree, words []string) ([]*manifest.Model, error) {
	if len(words) == 0 {
		for _, s := range tree.Services {
			words = append(words, s.Name)
		}
	}
	var found []*manifest.Model
	for _, w := range words {
		service, model, one := strings.Cut(strings.Trim(w, "/"), "/")
		s := tree.Service(service)
		if s == nil {
			return nil, usage("no service %q: there are %s", service,
				names(tree.Services, func(s *manifest.Service) string { return s.Name }))
		}
		if !one {
			found = append(found, s.Models...)
			continue
		}
		m := s.Model(model)
		if m == nil {
			return nil, usage("no model %q of %s: there are %s", model, service,
				names(s.Models, func(m *manifest.Model) string { return m.Name }))
		}
		found = append(found, m)
	}
	return found, nil
}

func names[T any](list []T, name func(T) string) string {
	var out []string
	for _, v := range list {
		out = append(out, name(v))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// experiments resolves names; none is all of them.
func experiments(tree *manifest.Tree, words []string) ([]*manifest.Experiment, error) {
	var found []*manifest.Experiment
	if len(words) == 0 {
		for _, e := range tree.Experiments {
			if !e.Asked {
				found = append(found, e)
			}
		}
		return found, nil
	}
	for _, w := range words {
		e := tree.Experiment(w)
		if e == nil {
			return nil, usage("no experiment %q: there are %s", w,
				names(tree.Experiments, func(e *manifest.Experiment) string { return e.Name }))
		}
		if !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// printJSON writes a value for scripts.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// terminal says whether w is one, and how wide.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 100, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return width, true
}

// colour says whether to use it: NO_COLOR and dumb terminals are respected.
func colour(w io.Writer) bool {
	_, ok := terminal(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// completeModels offers SERVICE and SERVICE/MODEL words to the shell.
func (l *laboratory) completeModels(_ *cobra.Command, _ []string,
	prefix string) ([]string, cobra.ShellCompDirective) {
	tree, err := l.tree()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, s := range tree.Services {
		words = append(words, s.Name)
		for _, m := range s.Models {
			words = append(words, s.Name+"/"+m.Name)
		}
	}
	return matching(words, prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeExperiments offers experiments' names to the shell.
func (l *laboratory) completeExperiments(_ *cobra.Command, _ []string,
	prefix string) ([]string, cobra.ShellCompDirective) {
	tree, err := l.tree()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, e := range tree.Experiments {
		words = append(words, e.Name+"\t"+e.Title)
	}
	return matching(words, prefix), cobra.ShellCompDirectiveNoFileComp
}

func matching(words []string, prefix string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, prefix) })
}

// parseCPUs reads "server=0,load=1" and "server=0-1,load=2-3", of the cores that are usable.
func parseCPUs(s string, usable []int) (map[string][]int, error) {
	cpus := map[string][]int{}
	role := ""
	for _, part := range strings.Split(s, ",") {
		name, value, named := strings.Cut(part, "=")
		if named {
			role = name
		} else {
			value = part
		}
		if role != "server" && role != "load" {
			return nil,
				usage("--cpus %q: expected server=CPUS,load=CPUS such as server=0,load=1 or "+
					"server=0-1,load=2", s)
		}
		list, err := cpuRange(value)
		if err != nil {
			return nil, usage("--cpus %q: %v", s, err)
		}
		for _, c := range list {
			if !slices.Contains(usable, c) {
				return nil, usage("--cpus %q: core %d is not usable here: there are %v", s, c,
					usable)
			}
		}
		cpus[role] = append(cpus[role], list...)
	}
	if len(cpus["server"]) == 0 || len(cpus["load"]) == 0 {
		return nil, usage("--cpus %q: both roles need cores, as in server=0,load=1", s)
	}
	return cpus, nil
}

// cpuRange reads "3" and "0-3".
func cpuRange(s string) ([]int, error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from < 0 || to < from || to >= maxCPUs {
		return nil, fmt.Errorf("%q is not a core's number or a range such as 0-3", s)
	}
	var list []int
	for c := from; c <= to; c++ {
		list = append(list, c)
	}
	return list, nil
}

// maxCPUs is what a cpu_set_t of sched_setaffinity(2) holds.
const maxCPUs = 1024
