package profile_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/profile"
	"interleave/eve/trial"
	"interleave/internal/browser"
)

var sanitize = flag.String("sanitize", "",
	"build the programs with this sanitizer: address or thread")

// hot spends nearly all its time in one function, for two tasks, one of which calls itself.
const hot = `spin: (n: int) int:
    x: int = 1
    for (i in 0..n): x = (x * 31 + i) % 1000003
    return x

deep: (n: int, work: int) int:
    if n == 0: return spin(work)
    return deep(n - 1, work) + spin(1)

main: () void:
    a, b: int@
    @ [+a]: a = spin(60000000)
    @ [+b]: b = deep(2000, 20000000)
    @ [a, b, +stdout]: print("%d\n", a + b)
`

func record(t *testing.T) *profile.Profile {
	t.Helper()
	program := trial.Build(t, trial.Check(t, "hot.eve", hot), emit.Options{},
		build.Options{Optimise: true, Profile: true, Sanitize: *sanitize})
	file := filepath.Join(t.TempDir(), "profile")
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "EVE_PROFILE="+file, "TSAN_OPTIONS=halt_on_error=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sums adds up the samples of the functions with a name, and finds one of them.
func sums(n *profile.Node, name string) (count int64, found *profile.Node) {
	for _, c := range n.Calls {
		if c.Name == name {
			return count + c.N, c
		}
		more, inside := sums(c, name)
		if count += more; inside != nil {
			found = inside
		}
	}
	return count, found
}

// A sample is of processor time, so most are of the function that uses it, however busy the machine
// is, and whichever worker ran it.
func TestRecordedProfile(t *testing.T) {
	p := record(t)
	if p.Samples == 0 || !p.Whole || p.Caution() != "" {
		t.Fatalf("%d samples: %s", p.Samples, p.Caution())
	}
	if *sanitize == "thread" {
		return // it delays a signal until a call of the library, where the sample then is
	}
	var out strings.Builder
	if err := p.Folded(&out); err != nil {
		t.Fatal(err)
	}
	count, spin := sums(p.Root, "hot.spin")
	if count < p.Samples/2 {
		t.Errorf("%d of %d samples are of hot.spin:\n%s", count, p.Samples, out.String())
	}
	if spin != nil && !strings.HasPrefix(spin.Place(), "hot.eve:") {
		t.Errorf("hot.spin is at %q", spin.Place())
	}
	tasks := 0
	for _, n := range p.Root.Calls {
		if n.Name == "hot.main, @" {
			tasks++
		}
		if n.Name == "hot.deep" || n.Name == "hot.spin" {
			t.Errorf("%s is no task:\n%s", n.Name, out.String())
		}
	}
	if tasks != 1 {
		t.Errorf("no tasks of hot.main among\n%s", out.String())
	}
}

// The page opens without a fault, shows the function, and a click shows it alone.
func TestPageInBrowser(t *testing.T) {
	browser.Needed(t)
	p := record(t)
	file := filepath.Join(t.TempDir(), "page.html")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.HTML(out), out.Close()); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			page := browser.Open(t, width, 900, "")
			page.Scheme(scheme)
			page.Navigate("file://" + file)
			page.Until("the graph is drawn",
				`document.querySelectorAll("#flame button").length > 2`)
			if browser.Eval[bool](page, "document.documentElement.scrollWidth > innerWidth") {
				t.Errorf("at %d pixels the page scrolls sideways", width)
			}
			page.Picture("profile-" + scheme + map[int]string{1280: "-wide", 390: "-phone"}[width])
			browser.Eval[bool](page, `([...document.querySelectorAll("#flame button")].find(`+
				`(b) => b.textContent === "hot.spin").click(), true)`)
			page.Until("it is described",
				`document.getElementById("detail").innerText.includes("hot.spin (hot.eve:")`)
		}
	}
}
