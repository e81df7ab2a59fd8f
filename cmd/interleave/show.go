package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"interleave/internal/manifest"
)

func showCommand(lab *laboratory) *cobra.Command {
	return &cobra.Command{
		Use:   "show SERVICE MODEL [MODEL]",
		Short: "print a model's source, or two side by side, with their lines of code",
		Example: `  interleave show echo c-epoll
  interleave show counter erlang-actor go-goroutine | less -S`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > 3 {
				return usage("show takes a service and one or two models, as in: interleave " +
					"show echo c-epoll go-goroutine")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			return lab.completeShow(args, prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := lab.tree()
			if err != nil {
				return err
			}
			var words []string
			for _, m := range args[1:] {
				words = append(words, args[0]+"/"+m)
			}
			found, err := models(tree, words)
			if err != nil {
				return err
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			if len(found) == 1 {
				return errors.Join(showOne(w, found[0]), w.Flush())
			}
			width, _ := terminal(cmd.OutOrStdout())
			return errors.Join(showTwo(w, found[0], found[1], width), w.Flush())
		},
	}
}

// completeShow offers the service, then its models.
func (l *laboratory) completeShow(args []string, prefix string) []string {
	tree, err := l.tree()
	if err != nil {
		return nil
	}
	var words []string
	if len(args) == 0 {
		for _, s := range tree.Services {
			words = append(words, s.Name)
		}
	} else if s := tree.Service(args[0]); s != nil && len(args) < 3 {
		for _, m := range s.Models {
			words = append(words, m.Name)
		}
	}
	return matching(words, prefix)
}

// source reads a model's hand-written files, one after the other.
func source(m *manifest.Model) ([]string, error) {
	var lines []string
	for i, name := range m.Source {
		data, err := os.ReadFile(filepath.Join(m.Dir, name))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			lines = append(lines, "")
		}
		if len(m.Source) > 1 {
			lines = append(lines, "== "+name)
		}
		lines = append(lines, strings.Split(strings.TrimRight(string(data), "\n"), "\n")...)
	}
	return lines, nil
}

// head is the text above a source.
func head(m *manifest.Model) []string {
	return []string{
		m.Service + "/" + m.Name,
		m.Summary,
		fmt.Sprintf("%s, %d lines of code", strings.Join(m.Source, " "), lines(m)),
		"",
	}
}

func showOne(w io.Writer, m *manifest.Model) error {
	lines, err := source(m)
	if err != nil {
		return err
	}
	for _, l := range append(head(m), lines...) {
		fmt.Fprintln(w, l)
	}
	return nil
}

// tabWidth is 4 where two columns share a screen: 8 would wrap every line of C.
const tabWidth = 4

// showTwo prints two columns; a line that is too long goes on in the next row of its column.
func showTwo(w io.Writer, a, b *manifest.Model, width int) error {
	column := (width - 3) / 2
	heads := [2][]string{wrapped(head(a), column), wrapped(head(b), column)}
	var columns [2][]string
	for i, m := range []*manifest.Model{a, b} {
		for len(heads[i]) < len(heads[1-i]) {
			heads[i] = append(heads[i], "")
		}
		lines, err := source(m)
		if err != nil {
			return err
		}
		columns[i] = heads[i]
		for _, l := range lines {
			l = strings.ReplaceAll(l, "\t", strings.Repeat(" ", tabWidth))
			columns[i] = append(columns[i], strings.Split(ansi.Hardwrap(l, column, true), "\n")...)
		}
	}
	for n := range max(len(columns[0]), len(columns[1])) {
		text := at(columns[0], n)
		pad := strings.Repeat(" ", max(0, column-ansi.StringWidth(text)))
		fmt.Fprintln(w, strings.TrimRight(text+pad+" │ "+at(columns[1], n), " "))
	}
	return nil
}

// wrapped breaks sentences between words.
func wrapped(text []string, width int) []string {
	var out []string
	for _, t := range text {
		out = append(out, strings.Split(ansi.Wordwrap(t, width, ""), "\n")...)
	}
	return out
}

// at is list[i], or nothing beyond its end.
func at[T any](list []T, i int) T {
	if i < len(list) {
		return list[i]
	}
	var none T
	return none
}

// lines counts a model's lines of code; the manifest was read, so its source is there.
func lines(m *manifest.Model) int {
	n, err := m.Lines()
	if err != nil {
		return 0
	}
	return n
}
