package findings

// The file of figures: JSON with a claim or a table on each line, so that a new run's figures can
// be read as a difference of the old ones.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"interleave/internal/manifest"
)

// File is the name of the figures in the folder of the pages.
const File = "figures.json"

// ErrNone is a folder without figures.
var ErrNone = errors.New("there are no findings yet: `interleave findings RUN` makes them from " +
	"a recorded run")

// Encode writes the figures.
func (f *Figures) Encode(w io.Writer) error {
	var b bytes.Buffer
	head := *f
	head.Claims, head.Choices, head.Tables = nil, nil, nil
	text, err := marshal(head, true)
	if err != nil {
		return err
	}
	// The three long lists are null in the head, and written line by line in place of that.
	lists := []struct {
		key   string
		lines [][]byte
	}{{"claims", nil}, {"choices", nil}, {"tables", nil}}
	if lists[0].lines, err = each(f.Claims); err != nil {
		return err
	}
	if lists[1].lines, err = each(f.Choices); err != nil {
		return err
	}
	if lists[2].lines, err = each(shortened(f.Tables)); err != nil {
		return err
	}
	for _, l := range lists {
		before, after, found := bytes.Cut(text, []byte("\n  \""+l.key+"\": null"))
		if !found {
			return fmt.Errorf("writing figures: the head has no %q", l.key)
		}
		b.Write(before)
		fmt.Fprintf(&b, "\n  %q: [", l.key)
		for i, line := range l.lines {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n    ")
			b.Write(line)
		}
		if len(l.lines) > 0 {
			b.WriteString("\n  ")
		}
		b.WriteByte(']')
		text = after
	}
	b.Write(text)
	_, err = w.Write(b.Bytes())
	return err
}

func each[T any](list []T) ([][]byte, error) {
	var out [][]byte
	for _, v := range list {
		line, err := marshal(v, false)
		if err != nil {
			return nil, err
		}
		out = append(out, bytes.TrimRight(line, "\n"))
	}
	return out, nil
}

func marshal(v any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("writing figures: %w", err)
	}
	return b.Bytes(), nil
}

// Decode reads figures. It refuses another version, fields that it does not know, and whatever a
// page or a comparison could not show.
func Decode(data []byte) (*Figures, error) {
	var v struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("not a file of findings: %w", err)
	}
	switch {
	case v.Version == nil:
		return nil, errors.New(`not a file of findings: it has no "version"`)
	case *v.Version != Version:
		return nil, fmt.Errorf("these findings have version %d, this program reads version %d: "+
			"use the interleave of the checkout that the file comes from, or make them again "+
			"from the record of their run with `interleave findings`", *v.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	f := &Figures{}
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("reading findings: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading findings: something follows the figures")
	}
	restore(f.Tables)
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("reading findings: %w", err)
	}
	return f, nil
}

// check says what is wrong with figures that have the right form.
func (f *Figures) check() error {
	sources := map[string]bool{}
	experiments := map[[2]string]bool{}
	for _, s := range f.Sources {
		if s.Name == "" || filepath.Base(s.Name) != s.Name || s.Name == ".." || s.Name == "." ||
			sources[s.Name] {
			return fmt.Errorf("%q cannot be the name of a page", s.Name)
		}
		sources[s.Name] = true
		for _, e := range s.Experiments {
			experiments[[2]string{s.Name, e.Name}] = true
		}
	}
	if f.Stacks != nil {
		for _, s := range f.Stacks.Steps {
			if len(s.Lines) != len(f.Stacks.Names) {
				return fmt.Errorf("step %q has the lines of %d stacks, of %d", s.Name,
					len(s.Lines), len(f.Stacks.Names))
			}
		}
	}
	ids := map[[2]string]bool{}
	for _, c := range f.Claims {
		key := [2]string{c.Experiment, c.ID}
		switch {
		case c.ID == "" || ids[key]:
			return fmt.Errorf("experiment %q has two claims %q, or one without a name",
				c.Experiment, c.ID)
		case !experiments[[2]string{c.Source, c.Experiment}]:
			return fmt.Errorf("claim %s is of experiment %q and source %q, which are not listed",
				c.ID, c.Experiment, c.Source)
		case !slices.Contains(order, c.Word):
			return fmt.Errorf("claim %s: %q is no verdict", c.ID, c.Word)
		}
		ids[key] = true
	}
	for _, c := range f.Choices {
		for _, p := range c.Models {
			if _, known := places[p.Group]; !known {
				return fmt.Errorf("%s, %s: %q is no standing", c.Service, c.Need, p.Group)
			}
		}
		if len(c.Models) == 0 {
			return fmt.Errorf("%s, %s: no model", c.Service, c.Need)
		}
		if _, known := manifest.Metrics[c.Metric]; !known {
			return fmt.Errorf("%s, %s: %q is no metric", c.Service, c.Need, c.Metric)
		}
	}
	return f.checkTables()
}

func (f *Figures) checkTables() error {
	seen := map[tableKey]bool{}
	for _, t := range f.Tables {
		if seen[t.key()] {
			return fmt.Errorf("two tables of %s at %s, %s, %s", t.Experiment, t.Point, t.Condition,
				t.Metric)
		}
		seen[t.key()] = true
		if _, known := manifest.Metrics[t.Metric]; !known {
			return fmt.Errorf("%s at %s: %q is no metric", t.Experiment, t.Point, t.Metric)
		}
		models := map[string]bool{}
		for _, r := range t.Rows {
			if r.Rounds < 1 {
				return fmt.Errorf("%s at %s, %s: %d rounds of %s", t.Experiment, t.Point, t.Metric,
					r.Rounds, r.Model)
			}
			if models[r.Model] {
				return fmt.Errorf("%s at %s, %s: two rows of %s", t.Experiment, t.Point, t.Metric,
					r.Model)
			}
			models[r.Model] = true
		}
	}
	return nil
}

// names are what a table is called by. There are a thousand tables in the largest run, and most of
// their names are those of the table before.
func (t *Table) names() [6]*string {
	return [6]*string{&t.Experiment, &t.Service, &t.Point, (*string)(&t.Condition),
		(*string)(&t.Metric), &t.Baseline}
}

// shortened are tables without the names that each shares with the one before it.
func shortened(tables []Table) []Table {
	out := slices.Clone(tables)
	for i := len(out) - 1; i > 0; i-- {
		before := out[i-1].names()
		for k, name := range out[i].names() {
			if *name == *before[k] {
				*name = ""
			}
		}
	}
	return out
}

// restore gives tables the names back that shortened took from them.
func restore(tables []Table) {
	for i := 1; i < len(tables); i++ {
		before := tables[i-1].names()
		for k, name := range tables[i].names() {
			if *name == "" {
				*name = *before[k]
			}
		}
	}
}

// A tableKey tells tables apart.
type tableKey struct{ experiment, service, point, condition, metric string }

func (t *Table) key() tableKey {
	return tableKey{t.Experiment, t.Service, t.Point, string(t.Condition), string(t.Metric)}
}

// Read reads the figures of a folder of pages, or the file itself.
func Read(path string) (*Figures, error) {
	if filepath.Ext(path) != filepath.Ext(File) {
		path = filepath.Join(path, File)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	f, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
