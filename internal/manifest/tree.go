package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// largest bounds a manifest in bytes; ours have some 5 kB.
const largest = 1 << 20

// LoadTree reads all manifests of a checkout. Its error joins all that is wrong, each
// part an *Error.
func LoadTree(root string) (*Tree, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", root, err)
	}
	t := &Tree{Root: root}
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	files, err := glob(root, "services/*/service.toml")
	add(err)
	if len(files) == 0 && err == nil {
		add(&Error{File: "services",
			Err: errors.New("no service in it: expected services/*/service.toml below " + root)})
	}
	for _, file := range files {
		s, err := LoadService(root, file)
		add(err)
		if s == nil { // its models are still read, for what is wrong with them
			s = &Service{Name: filepath.Base(filepath.Dir(file))}
		}
		add(s.loadModels(root, filepath.Dir(file)))
		t.Services = append(t.Services, s)
	}
	add(strays(root))
	files, err = glob(root, "experiments/*/experiment.toml")
	add(err)
	for _, file := range files {
		e, err := loadExperiment(root, file, t)
		add(err)
		if e != nil {
			t.Experiments = append(t.Experiments, e)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return t, nil
}

func (s *Service) loadModels(root, dir string) error {
	files, err := glob(root, filepath.Join(dir, "*", "model.toml"))
	errs := []error{err}
	for _, file := range files {
		m, err := s.LoadModel(root, file)
		errs = append(errs, err)
		if m != nil {
			s.Models = append(s.Models, m)
		}
	}
	return errors.Join(errs...)
}

// strays reports the folders that would be passed over in silence: models without a service.toml
// beside them, and folders with a server's source but no model.toml.
func strays(root string) error {
	var errs []error
	models, err := glob(root, "services/*/*/model.toml")
	errs = append(errs, err)
	for _, file := range models {
		service := filepath.Join(filepath.Dir(filepath.Dir(file)), "service.toml")
		if _, err := os.Stat(filepath.Join(root, service)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &Error{File: file,
				Err: fmt.Errorf("a model without a service: expected %s", service)})
		}
	}
	folders, err := glob(root, "services/*/*-*")
	errs = append(errs, err)
	for _, dir := range folders {
		if slices.Contains(models, filepath.Join(dir, "model.toml")) {
			continue
		}
		service := filepath.Base(filepath.Dir(dir))
		entries, _ := os.ReadDir(filepath.Join(root, dir)) // not a folder: no entries
		for _, e := range entries {
			ext := filepath.Ext(e.Name())
			if ext != "" && strings.EqualFold(strings.TrimSuffix(e.Name(), ext), service) {
				errs = append(errs, &Error{File: dir,
					Err: errors.New("a server without model.toml: every model has one")})
				break
			}
		}
	}
	return errors.Join(errs...)
}

// glob returns the files of a pattern relative to root, sorted.
func glob(root, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(root), filepath.ToSlash(pattern))
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", pattern, err)
	}
	for i := range found {
		found[i] = filepath.FromSlash(found[i])
	}
	return found, nil
}

func read(root, file string) ([]byte, error) {
	path := filepath.Join(root, file)
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{File: file, Err: cause(err)}
	}
	if info.Size() > largest {
		return nil, &Error{File: file, Err: fmt.Errorf("has %d bytes: a manifest has at most %d",
			info.Size(), largest)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{File: file, Err: cause(err)}
	}
	return data, nil
}

// cause strips the path from a file error: ours names the file already.
func cause(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Service returns the service of this name, or nil.
func (t *Tree) Service(name string) *Service {
	for _, s := range t.Services {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Experiment returns the experiment of this name, or nil.
func (t *Tree) Experiment(name string) *Experiment {
	for _, e := range t.Experiments {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Model returns the model of this name, or nil.
func (s *Service) Model(name string) *Model {
	for _, m := range s.Models {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// ServiceNames are the services by name, for messages.
func (t *Tree) ServiceNames() []string {
	names := make([]string, len(t.Services))
	for i, s := range t.Services {
		names[i] = s.Name
	}
	return names
}
