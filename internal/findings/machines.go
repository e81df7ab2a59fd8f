package findings

// More than one machine. The pages are those of the first one, whose figures are figures.json. Each
// other machine has a file of figures of its own, in the folder machines/: it is asked whether it
// says the same, and decides what the first one leaves open.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// MachinesDir is the folder of the figures of other machines than the first, below that of the
// pages.
const MachinesDir = "machines"

// First is the name of the machine of figures.json.
const First = "first"

// An Other is a machine with the name by which commands know it.
type Other struct {
	Name string
	*Figures
}

// A Set has the figures of all machines. The embedded ones are the first machine's, and claims that
// only others have, as not measured.
type Set struct {
	*Figures
	Others []Other  // by name
	first  *Figures // as its file has them
}

// Together makes a set of a first machine and others.
func Together(first *Figures, others ...Other) *Set {
	s := &Set{Figures: first, Others: slices.Clone(others), first: first}
	if len(others) == 0 {
		return s
	}
	slices.SortFunc(s.Others, func(a, b Other) int { return cmp.Compare(a.Name, b.Name) })
	all := *first
	all.Claims, all.Sources = slices.Clone(first.Claims), slices.Clone(first.Sources)
	for i := range all.Sources {
		all.Sources[i].Experiments = slices.Clone(all.Sources[i].Experiments)
	}
	for _, o := range s.Others {
		all.adopt(o)
	}
	all.sortSources()
	s.Figures = &all
	return s
}

// adopt takes in the claims that only another machine has.
func (f *Figures) adopt(o Other) {
	for _, c := range o.Claims {
		if _, found := f.claim(c.Source, c.ID); found {
			continue
		}
		why := "the figures of the first machine do not have this claim"
		f.Claims = append(f.Claims, Claim{Source: c.Source, Experiment: c.Experiment, ID: c.ID,
			Kind: c.Kind, Ours: c.Ours, Says: c.Says, Where: c.Where, Transfer: c.Transfer,
			Margin: c.Margin, Metric: c.Metric, Word: stats.NotMeasured, Reason: why,
			Sentence: "Not measured: " + why + "."})
		f.adoptExperiment(o, c)
	}
}

// adoptExperiment lists the experiment of a claim of another machine, unless it is listed.
func (f *Figures) adoptExperiment(o Other, c Claim) {
	e, found := o.experiment(c.Source, c.Experiment)
	if _, listed := f.experiment(c.Source, c.Experiment); listed || !found {
		return
	}
	i := slices.IndexFunc(f.Sources, func(s Source) bool { return s.Name == c.Source })
	if i < 0 {
		i, f.Sources = len(f.Sources), append(f.Sources, Source{Name: c.Source})
	}
	f.Sources[i].Experiments = append(f.Sources[i].Experiments, e)
}

// claim finds a claim of a source.
func (f *Figures) claim(source, id string) (Claim, bool) {
	for _, c := range f.Claims {
		if c.Source == source && c.ID == id {
			return c, true
		}
	}
	return Claim{}, false
}

// experiment finds an experiment of a source.
func (f *Figures) experiment(source, name string) (Experiment, bool) {
	for _, s := range f.Sources {
		for _, e := range s.Experiments {
			if s.Name == source && e.Name == name {
				return e, true
			}
		}
	}
	return Experiment{}, false
}

// All are the machines of the set, the first one first.
func (s *Set) All() []Other { return append([]Other{{First, s.first}}, s.Others...) }

// Named finds a machine of the set.
func (s *Set) Named(name string) (Other, error) {
	var names []string
	for _, o := range s.All() {
		if o.Name == name {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return Other{}, fmt.Errorf("there are no findings of a machine %q: expected %s", name,
		strings.Join(names, ", "))
}

// Nearest is the machine of the set that is most like another one: the same, or one with the same
// processor. Of equals it is the first in the set's order.
func (s *Set) Nearest(m record.Machine) Other {
	likeness := func(o Other) int {
		switch {
		case o.Machine.Same(m) == "":
			return 3
		case o.Machine.CPU == m.CPU && o.Machine.Cores == m.Cores:
			return 2
		case o.Machine.CPU == m.CPU:
			return 1
		}
		return 0
	}
	all := s.All()
	best := all[0]
	for _, o := range all[1:] {
		if likeness(o) > likeness(best) {
			best = o
		}
	}
	return best
}

// label is how the pages call a machine: its cores and processor, and its name where another one of
// the set has the same.
func (s *Set) label(o Other) string {
	for _, other := range s.All() {
		if other.Name != o.Name && other.machineOf() == o.machineOf() {
			return o.machineOf() + " (" + o.Name + ")"
		}
	}
	return o.machineOf()
}

// firstLabel is the label of the first machine.
func (s *Set) firstLabel() string { return s.label(Other{First, s.first}) }

// Check says which two files of a set are of one machine. Its verdicts would count twice.
func (s *Set) Check() error {
	all := s.All()
	for i, a := range all {
		for _, b := range all[:i] {
			if a.Machine.Same(b.Machine) == "" {
				return fmt.Errorf("%s and %s are of one machine, %s, and a machine counts once: "+
					"remove one of the two", FileOf(b.Name), FileOf(a.Name), a.machineOf())
			}
		}
	}
	return nil
}

// FileOf is the file of a machine's figures, seen from the folder of the pages.
func FileOf(name string) string {
	if name == First {
		return File
	}
	return path.Join(MachinesDir, name+filepath.Ext(File))
}

// goodName is what a machine may be called, so that its file has the same name on every system.
var goodName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// CheckName says why another machine cannot have a name.
func CheckName(name string) error {
	switch {
	case name == First:
		return fmt.Errorf("%q is the name of the machine of %s: choose another one", name, File)
	case !goodName.MatchString(name):
		return fmt.Errorf("%q cannot be the name of a machine: expected at most 40 small letters, "+
			"digits and hyphens, as in \"xeon-2\"", name)
	}
	return nil
}

// ReadSet reads the figures of all machines in a folder of pages.
func ReadSet(dir string) (*Set, error) {
	first, err := Read(dir)
	if err != nil {
		return nil, err
	}
	others, err := ReadOthers(dir, "")
	if err != nil {
		return nil, err
	}
	s := Together(first, others...)
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

// ReadOthers reads the figures of the machines beside the first, except those of one name, which
// are about to be replaced.
func ReadOthers(dir, except string) ([]Other, error) {
	files, err := filepath.Glob(filepath.Join(dir, MachinesDir, "*"+filepath.Ext(File)))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var out []Other
	var errs []error
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if name == except {
			continue
		}
		f, err := Read(file)
		if err == nil {
			if err = CheckName(name); err != nil {
				err = fmt.Errorf("%s: %w", file, err)
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, Other{name, f})
	}
	return out, errors.Join(errs...)
}

// Owner is the machine whose figures a file has, in whatever version of the format; nil if there is
// no file.
func Owner(file string) (*record.Machine, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v struct {
		Machine *record.Machine `json:"machine"`
	}
	err = json.Unmarshal(data, &v)
	if err == nil && (v.Machine == nil || v.Machine.CPU == "") {
		err = errors.New(`it has no "machine"`)
	}
	if err != nil {
		return nil, fmt.Errorf("%s would be written over, and does not say of which machine it "+
			"is: %w: remove it if nobody needs it", file, err)
	}
	return v.Machine, nil
}

// Empty says whether the run of some figures has no cell and has built nothing.
func (f *Figures) Empty() bool {
	return f.Cells.All == 0 && !slices.ContainsFunc(f.Claims, func(c Claim) bool {
		return c.Kind == manifest.KindBuilds && !silent(c.Word)
	})
}

// Beside is what is kept of a machine beside the first: the claims that it has measured, and its
// ratios, for comparisons. What the first one's pages say of sources is not said again. Experiments
// that the checkout does not have are left out, and named.
func (f *Figures) Beside(first *Figures, checkout *manifest.Tree) (kept *Figures, left []string) {
	out := *f
	out.Choices, out.Stacks = []Choice{}, nil
	out.Sources, out.Claims, out.Tables = []Source{}, []Claim{}, []Table{}
	known := func(experiment string) bool {
		if checkout.Experiment(experiment) != nil {
			return true
		}
		if !slices.Contains(left, experiment) {
			left = append(left, experiment)
		}
		return false
	}
	used := map[string]bool{}
	for _, c := range f.Claims {
		if !silent(c.Word) && known(c.Experiment) {
			out.Claims = append(out.Claims, c)
			used[c.Experiment] = true
		}
	}
	for _, t := range f.Tables {
		if known(t.Experiment) {
			out.Tables = append(out.Tables, t)
		}
	}
	for _, s := range f.Sources {
		s.Experiments = slices.DeleteFunc(slices.Clone(s.Experiments),
			func(e Experiment) bool { return !used[e.Name] })
		for i := range s.Experiments {
			e := &s.Experiments[i]
			if _, told := first.experiment(s.Name, e.Name); told {
				e.Setup = []string{}
			}
		}
		if len(s.Experiments) > 0 {
			out.Sources = append(out.Sources, s)
		}
	}
	return &out, left
}
