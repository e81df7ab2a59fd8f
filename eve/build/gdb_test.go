package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

const debugged = `type item:
    name: string
    price: int

union shape:
    empty
    circle(radius: float)
    box(wide: int, name: string)

sum: (v: slice<int>&) int:
    if v.size() < 2:
        return v[0]
    low, high: slice<int>& = v.split(v.size() / 2)
    a, b: int@
    finish:
        @ [+a, &low]: a = sum(low)
        @ [+b, &high]: b = sum(high)
    return a + b

show: [+stdout] (items: vector<item>, note: string?) void:
    prices: map<string, int>
    for (i in items):
        prices.set(i.name, i.price)
    long: string = "a text of more than fifteen bytes"
    shared: item@ = item("pen", 5)
    @ [+shared]:
        shared.price = 6
    nothing: int? = none
    first: item? = items[0]
    kept: item@? = shared
    pair: (int, string) = (1, "one")
    round: shape = shape.empty
    square: shape = shape.box(3, "n")
    raw: bytes = "raw".bytes()
    letters: set<char> = ['a', 'b']
    grid: array<float, 2> = [0.5, 1.0]
    wait: duration = 1500ms
    bad: int! = make_error(3, "why")
    good: int! = 5
    numbers: vector<int> = [1, 2, 3]
    total: int = sum(numbers)
    print("%d %s %v %v %v %v %v %v %d\n", prices.size(), long, nothing, pair, raw, letters, grid, wait, total)

main: [+stdout] () void:
    show([item("book", 12), item("cup", 3)], "some")
`

// gdb stops at a line of the Eve text, and shows values, calls and steps in terms of Eve.
func TestGdb(t *testing.T) {
	trial.NeedCompiler(t)
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("no gdb: apt-get install gdb")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("shop.eve", []byte(debugged), 0o644); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "shop")
	trial.Build(t, trial.Check(t, "shop.eve", debugged), emit.Options{Debug: true},
		build.Options{Debug: true, Out: exe})
	args := []string{"-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex",
		"set debuginfod enabled off"}
	for _, command := range []string{
		"tbreak shop.eve:22", "run", "step", "step", "step", "step", "step", "step", "step",
		"tbreak shop.eve:42", "continue", "info locals", "backtrace",
		"tbreak shop.eve:12", "run", "backtrace",
		"tbreak shop.eve:27", "continue", "backtrace",
	} {
		args = append(args, "-ex", command)
	}
	cmd := exec.Command(gdb, append(args, exe)...)
	cmd.Env = append(os.Environ(), "EVE_WORKERS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "Could not trace the inferior process") {
		t.Skip("gdb may not trace processes here")
	}
	for _, want := range []string{
		"items=vector of 2 = {...}, note=some(\"some\")) at",
		// it steps neither into the runtime nor into copying and destroying an item
		"23\t        prices.set(i.name, i.price)\n22\t",
		"24\t    long: string",
		"\nprices = map of 2 = {[\"book\"] = 12, [\"cup\"] = 3}\n",
		"\nlong_ = \"a text of more than fifteen bytes\"\n",
		"{value = {name = \"pen\", price = 5}}\n",
		"\nnothing = none\n",
		"\nfirst = some({name = \"book\", price = 12})\n",
		"\nkept = some(@0x",
		"\npair = (1, \"one\")\n",
		"\nround = shape.empty\n",
		"\nsquare = shape.box(3, \"n\")\n",
		"\nraw = \"raw\"\n",
		"\nletters = set of 2 = {97 'a', 98 'b'}\n",
		"\ngrid = array of 2 = {0.5, 1}\n",
		"\nwait = 1.5s\n",
		"\nbad = error(3, \"why\")\n",
		"\ngood = ok(5)\n",
		"\nnumbers = vector of 3 = {1, 2, 3}\n",
		"\n#0  shop.show (items=vector of 2 = {...}, note=some(\"some\")) at ",
		" in shop.main () at ",
		"\n#0  shop.sum (v=slice of 1 = {...}) at ",
		"\n#0  shop.show.task1 () at ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("gdb does not say %s", want)
		}
	}
	for _, not := range []string{"eve::run_root", "No such file", "Python Exception"} {
		if strings.Contains(string(out), not) {
			t.Errorf("gdb says %s", not)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
