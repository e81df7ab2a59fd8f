package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
)

const debugged = `type item:
    name: string
    price: int

show: [+stdout] (items: vector<item>, note: string?) void:
    prices: map<string, int>
    for (i in items):
        prices.set(i.name, i.price)
    long: string = "a text of more than fifteen bytes"
    shared: item@ = item("pen", 5)
    @ [+shared]: shared.price = 6
    nothing: int? = none
    print("%d %s %v %v\n", prices.size(), long, note, nothing)

main: [+stdout] () void:
    show([item("book", 12), item("cup", 3)], "some")
`

// gdb stops at a line of the Eve text and shows values as Eve means them.
func TestGdb(t *testing.T) {
	needCompiler(t)
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
	made(t, program(t, "shop.eve", debugged), emit.Options{Debug: true}, build.Options{Debug: true, Out: exe})
	cmd := exec.Command(gdb, "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set debuginfod enabled off",
		"-ex", "break shop.eve:13", "-ex", "run", "-ex", "info locals", "-ex", "print items", "-ex", "print note", "-ex", "backtrace", exe)
	cmd.Env = append(os.Environ(), "EVE_WORKERS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "Could not trace the inferior process") {
		t.Skip("gdb may not trace processes here")
	}
	for _, want := range []string{
		`13	    print("%d %s %v %v\n"`,
		`prices = 2 entries = {["book"] = 12, ["cup"] = 3}`,
		`long_ = "a text of more than fifteen bytes"`,
		`{value = {name = "pen", price = 5}}`,
		`nothing = none`,
		`{{name = "book", price = 12}, {name = "cup", price = 3}}`,
		`some = {value = "some"}`,
		`shop__main () at`,
		`shop.eve:16`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("gdb does not say %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
