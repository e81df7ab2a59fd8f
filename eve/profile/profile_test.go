package profile

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/dump"
	"interleave/eve/symbols"
	"interleave/internal/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// frames are the functions at made-up addresses, the innermost first.
func frames(at uint64) []symbols.Frame {
	spin := symbols.Frame{Name: "_ZL9hot__spinl", File: "hot.eve", Line: 3}
	task := symbols.Frame{Name: "_ZN3eve7task_ofI16hot__main__task1Li1EE3runEPNS_4taskE",
		File: "task.hpp", Line: 90}
	return map[uint64][]symbols.Frame{
		1: {spin, {Name: "_ZN16hot__main__task1clEv", File: "hot.eve", Line: 9}, task},
		2: {{Name: "_ZN3eve8run_rootEPNS_6workerE"}},
		3: {{Name: "_ZN3eve4workEPNS_6workerE"}},
		4: {{Name: "memcpy"}},
		5: {spin},
		6: {{Name: "_ZN3eve6string6appendEv"}},
		7: {{Name: "_ZL9hot__mainPN3eve6workerE", File: "hot.eve", Line: 12}},
	}[at]
}

func made(stacks ...stack) *Profile {
	p := &Profile{Program: "hot", Workers: 1, Rate: 1000, Whole: true, stacks: stacks,
		codes: map[uint64]dump.Code{}}
	for _, s := range stacks {
		p.Samples += s.count
	}
	p.build(frames)
	return p
}

// Calls that are inlined are functions of their own, the runtime below a task is left out, and
// another task below it too.
func TestTasksAreTheRoots(t *testing.T) {
	p := made(
		stack{count: 3, at: []uint64{1, 2, 3}},
		stack{count: 2, at: []uint64{4, 5, 1, 2, 7, 2, 3}},
		stack{count: 1, at: []uint64{6, 7, 2, 3}},
		stack{count: 4, at: []uint64{3}},
		stack{count: 1, at: []uint64{6, 2, 3}},
	)
	var out strings.Builder
	if err := p.Folded(&out); err != nil {
		t.Fatal(err)
	}
	want := `between handlers;eve::string::append 1
hot.main;eve::string::append 1
hot.main, @;hot.spin 3
hot.main, @;hot.spin;memcpy 2
no task: events, looking for work;eve::work 4
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	spin := p.byTime()[0].Calls[0]
	if spin.Place() != "hot.eve:3" || spin.N != 5 || spin.Self != 3 {
		t.Errorf("got %+v", *spin)
	}
	if p.Time(5) != "5ms" {
		t.Errorf("five samples are %s", p.Time(5))
	}
}

// go tool pprof reads what is written for it.
func TestPprof(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIP: install go for its pprof")
	}
	file := filepath.Join(t.TempDir(), "hot.pb.gz")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	p := made(stack{count: 3, at: []uint64{1, 2, 3}}, stack{count: 2, at: []uint64{4, 5, 1, 2}})
	if err := p.Pprof(out); err != nil {
		t.Fatal(err)
	}
	out.Close()
	said, err := exec.Command(goTool, "tool", "pprof", "-top", "-sample_index=cpu",
		file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"3ms", "60.00%", "hot.spin", "2ms", "memcpy", "5ms"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("pprof does not say %s:\n%s", want, said)
		}
	}
}

func section(out []byte, tag string, numbers ...uint64) []byte {
	out = append(out, (tag + "\x00\x00\x00\x00\x00\x00\x00\x00")[:8]...)
	out = binary.LittleEndian.AppendUint64(out, uint64(8*len(numbers)))
	for _, x := range numbers {
		out = binary.LittleEndian.AppendUint64(out, x)
	}
	return out
}

func file() []byte {
	out := section([]byte(Magic), "head", 997, 2, 77, 9, 1, 0x4000)
	out = section(out, "stack", 0, 5, 0, 1, 2, 3)
	out = section(out, "stack", 1, 4, 0, 3)
	return section(out, "end")
}

func TestParse(t *testing.T) {
	p, err := parse(file())
	if err != nil || p.Samples != 9 || p.Lost != 1 || len(p.stacks) != 2 || !p.Whole {
		t.Fatalf("got %+v, %v", p, err)
	}
	for name, data := range map[string][]byte{
		"text": []byte("main"), "only magic": []byte(Magic),
		"rate": section([]byte(Magic), "head", 0, 2, 77, 9, 1, 0),
		"deep": section(file()[:8+16+48], "stack", make([]uint64, 3000)...),
	} {
		if _, err := parse(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Read(file()); err == nil {
		t.Error("a profile of a program that is not there: no error")
	}
}

// FuzzParse reads any file. What it accepts can be shown, and no sample is lost on the way.
func FuzzParse(f *testing.F) {
	f.Add(file())
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse(data)
		if err != nil {
			return
		}
		p.build(func(at uint64) []symbols.Frame {
			if known := frames(at % 9); known != nil {
				return known
			}
			return []symbols.Frame{{}}
		})
		if p.Root.N != p.Samples {
			t.Errorf("%d samples in the tree, %d in the file", p.Root.N, p.Samples)
		}
		for _, write := range []func(io.Writer) error{p.Text, p.Folded, p.HTML, p.Pprof} {
			if err := write(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}
