package probetest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// A Subject is a model that was built, for tests that ask more of its servers than a
// transcript can say.
type Subject struct{ built *toolchain.Built }

// What its tests hold in their hands.
type (
	Folder = serve.Folder
	Server = serve.Server
)

// Insert puts words between the program of the model's command and what follows, if that
// is the program.
func (m *Subject) Insert(program string, words ...string) {
	if m.built.Model.Run[0] != program {
		return
	}
	built, model := *m.built, *m.built.Model
	model.Run = slices.Insert(slices.Clone(model.Run), 1, words...)
	built.Model = &model
	m.built = &built
}

// Each gives every model of the service whose name is of the pattern to a test of its own.
func Each(t *testing.T, pattern string, test func(t *testing.T, m *Subject)) {
	root, service := load(t)
	for _, name := range named(t, service, pattern) {
		t.Run(name, func(t *testing.T) {
			model, _ := look(t, root, service, name, manifest.Kernel)
			test(t, &Subject{build(t, root, model)})
		})
	}
}

// One gives one model to the test.
func One(t *testing.T, name string) *Subject {
	root, service := load(t)
	model, _ := look(t, root, service, name, manifest.Kernel)
	return &Subject{build(t, root, model)}
}

// Whole tells models that keep all promises of their service from those that are held to some of
// its transcripts only.
func (m *Subject) Whole() bool { return len(m.built.Model.Conform) == 0 }

// Folder makes what {data} stands for, which goes with the test: a disk of so many bytes, or where
// that is 0 or not allowed here a folder like any other, which is then not small.
func (m *Subject) Folder(t *testing.T, bytes int64) (folder *serve.Folder, small bool) {
	folder, err := serve.NewFolder(m.built.Out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	return folder, bytes > 0 && os.Geteuid() == 0 && folder.Shrink(bytes) == nil
}

// Start starts a server on a folder, with words after those of its manifest. It dies with the test.
func (m *Subject) Start(t *testing.T, folder *serve.Folder, words ...string) *serve.Server {
	s, err := serve.Start(t.Context(), m.built, serve.StartOptions{Data: folder, Args: words,
		Limit: patience, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if said := strings.TrimSpace(s.Tail()); t.Failed() && said != "" {
			t.Logf("the server said last:\n%s", said)
		}
	})
	return s
}

// FreePort is a port of 127.0.0.1 for what a test itself starts.
func FreePort(t *testing.T) int {
	t.Helper()
	port, err := serve.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
