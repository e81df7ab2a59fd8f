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

// A Subject is a built model, for tests that ask more of its servers than a transcript can say.
type Subject struct{ built *toolchain.Built }

// The types of package serve that tests of services use.
type (
	Folder = serve.Folder
	Server = serve.Server
)

// Insert puts words after the first word of the model's command, if that word is program.
func (m *Subject) Insert(program string, words ...string) {
	if m.built.Model.Run[0] != program {
		return
	}
	built, model := *m.built, *m.built.Model
	model.Run = slices.Insert(slices.Clone(model.Run), 1, words...)
	built.Model = &model
	m.built = &built
}

// Hurry spares the JVM of a model, if it has one, what pays only in those that live longer than a
// minute: the second compiler, which takes half of the CPU that a start takes, and threads that
// collect garbage beside the program.
func Hurry(m *Subject) { m.Insert("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") }

// Each calls test for every model of the service whose name matches the pattern.
func Each(t *testing.T, pattern string, test func(t *testing.T, m *Subject)) {
	root, service := load(t)
	for _, name := range named(t, service, pattern) {
		t.Run(name, func(t *testing.T) {
			model, _ := look(t, root, service, name, manifest.Kernel)
			test(t, &Subject{build(t, root, model)})
		})
	}
}

// One returns one model of the service.
func One(t *testing.T, name string) *Subject {
	root, service := load(t)
	model, _ := look(t, root, service, name, manifest.Kernel)
	return &Subject{build(t, root, model)}
}

// Whole reports whether the model is held to all transcripts of its service.
func (m *Subject) Whole() bool { return len(m.built.Model.Conform) == 0 }

// Folder makes the folder that {data} stands for, which is removed after the test. It is a disk of
// this many bytes, and small is true. If bytes is 0 or this process may not mount, it is an
// ordinary folder, and small is false.
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

// Start starts a server on a folder, with these words after those of its manifest. The server is
// killed after the test.
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
