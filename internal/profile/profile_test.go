package profile

import (
	"bytes"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

func TestAdd(t *testing.T) {
	root := &Node{}
	root.Add([]string{"main", "read"}, 3)
	root.Add([]string{"main", "write", "copy"}, 2)
	root.Add([]string{"main"}, 1)
	root.Add(nil, 1)
	if root.N != 7 || len(root.Calls) != 1 || root.Calls[0].N != 6 || root.Calls[0].Self() != 1 ||
		root.Self() != 1 {
		t.Errorf("got %+v", root)
	}
	self := root.Selves()
	if self["read"] != 3 || self["copy"] != 2 || self["write"] != 0 || self["main"] != 1 {
		t.Errorf("at work themselves: got %v", self)
	}
	deep := make([]string, 10*mostDepth)
	root.Add(deep, 1)
	depth := 0
	for n := root; len(n.Calls) > 0; n = n.Calls[0] {
		depth++
	}
	if depth != mostDepth {
		t.Errorf("a stack of %d is kept %d deep, want %d", len(deep), depth, mostDepth)
	}
}

// TestPrune leaves a rare function to its caller: no sample is lost.
func TestPrune(t *testing.T) {
	root := &Node{}
	root.Add([]string{"main", "often"}, 9_999)
	root.Add([]string{"main", "rare"}, 1)
	root.prune()
	if main := root.Calls[0]; root.N != 10_000 || len(main.Calls) != 1 || main.Self() != 1 {
		t.Errorf("got %+v", root.Calls[0])
	}
}

//go:noinline
func burn(until time.Time) (n int) {
	for time.Now().Before(until) {
		for range 1000 {
			n++
		}
	}
	return n
}

// TestReadPprof reads a profile that the runtime writes of this program.
func TestReadPprof(t *testing.T) {
	var file bytes.Buffer
	if err := pprof.StartCPUProfile(&file); err != nil {
		t.Skip("SKIP: somebody profiles this test:", err)
	}
	root, err := &Node{}, error(nil)
	for end := time.Now().Add(5 * time.Minute); root.N == 0 && time.Now().Before(end); {
		burn(time.Now().Add(200 * time.Millisecond))
		pprof.StopCPUProfile()
		if root, err = ReadPprof(bytes.NewReader(file.Bytes())); err != nil {
			t.Fatal(err)
		}
		file.Reset()
		if root.N == 0 && pprof.StartCPUProfile(&file) != nil {
			t.Fatal("it does not start again")
		}
	}
	found := false
	root.visit(func(n *Node) { found = found || n.Name == "profile.burn" && n.N > root.N/2 })
	if !found {
		t.Errorf("most of %d samples are not of profile.burn: %v", root.N, root.Selves())
	}
	if _, err := ReadPprof(strings.NewReader("no profile")); err == nil {
		t.Error("any text is a profile")
	}
}

const recorded = `{"recording":{"events":[
{"type":"jdk.CPUTimeSample","values":{"startTime":"2026-11-22T18:00:00Z","stackTrace":{"truncated":false,"frames":[
 {"method":{"type":{"name":"org/sqlite/core/NativeDB","hidden":false},"name":"step","descriptor":"(J)I"},"lineNumber":0,"type":"Native"},
 {"method":{"type":{"name":"images/Store$$Lambda+0x00007f0011223344"},"name":"run"}}]}}},
{"type":"jdk.CPUTimeSample","values":{"stackTrace":{"frames":[{"method":{"type":{"name":"images/Store$$Lambda.0x00007f0099887766"},"name":"run"}}]}}},
{"type":"jdk.CPUTimeSample","values":{"stackTrace":null}},
{"type":"jdk.GarbageCollection","values":{"stackTrace":{"frames":[{"method":{"type":{"name":"X"},"name":"y"}}]}}}]}}`

func TestReadJFR(t *testing.T) {
	root, err := ReadJFR(strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	if root.N != 2 || len(root.Calls) != 1 || root.Calls[0].Name != "Store$$Lambda.run" ||
		root.Selves()["NativeDB.step"] != 1 {
		t.Errorf("got %d samples, %v; want 2, one each of Store$$Lambda.run and of "+
			"NativeDB.step, which it called", root.N, root.Selves())
	}
	for _, text := range []string{"", "{", `{"recording":[]}`, `[]`} {
		if _, err := ReadJFR(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a recording", text)
		}
	}
}

// FuzzReadJFR reads any text: it must not fail, and no function has fewer samples than
// those that it calls.
func FuzzReadJFR(f *testing.F) {
	for _, seed := range []string{recorded,
		`{"recording":{"events":[{"type":"jdk.CPUTimeSample","values":{"stackTrace":{"frames":[{}]}}}]}}`, "{}", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := ReadJFR(strings.NewReader(text))
		if err != nil {
			return
		}
		root.visit(func(n *Node) {
			if n.Self() < 0 || n.N < 0 {
				t.Errorf("%q: %d samples, at work itself in %d", n.Name, n.N, n.Self())
			}
		})
	})
}
