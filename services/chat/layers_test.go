package chat

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// c-epoll's files are layers (c-epoll/chat.h): each calls only what stands above it in the list
// there. The compiler holds that as long as each file names its layer, and each header refuses the
// files of the layers above its own.
func TestLayers(t *testing.T) {
	if flag.Lookup("sanitize").Value.String() != "" {
		t.Skip("nothing in it is built with a sanitizer: a run without one has this test")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("SKIP: install gcc to see that a file cannot call a layer above its own")
	}
	const dir = "c-epoll"
	header, err := os.ReadFile(filepath.Join(dir, "chat.h"))
	if err != nil {
		t.Fatal(err)
	}
	var listed, numbered []string
	for _, m := range regexp.MustCompile(`(?m)^ \*\t(\w+)\s`).FindAllSubmatch(header, -1) {
		listed = append(listed, string(m[1]))
	}
	for _, m := range regexp.MustCompile(`(?m)^#define L_(\w+)\s`).FindAllSubmatch(header, -1) {
		numbered = append(numbered, strings.ToLower(string(m[1])))
	}
	if len(listed) == 0 || strings.Join(listed, " ") != strings.Join(numbered, " ") {
		t.Fatalf("chat.h lists the layers  %q\nand numbers them as      %q", listed, numbered)
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil || len(sources) != len(listed) {
		t.Errorf("%d files and %d layers (%v)", len(sources), len(listed), err)
	}
	below := "0"
	for _, layer := range listed {
		own := "L_" + strings.ToUpper(layer)
		text, err := os.ReadFile(filepath.Join(dir, layer+".c"))
		if err != nil {
			t.Error(err)
		}
		define, include := strings.Index(string(text), "#define LAYER "+own+"\n"),
			strings.Index(string(text), "#include")
		if define < 0 || define > include {
			t.Errorf("%s.c: want #define LAYER %s before its first #include", layer, own)
		}
		if layer != "chat" { // what nothing calls has no header but the one of all
			if out, err := preprocess(dir, layer, own); err != nil {
				t.Errorf("%s.h with LAYER %s: %v\n%s", layer, own, err, out)
			}
			out, err := preprocess(dir, layer, below)
			want := layer + ".h stands below"
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%s.h with LAYER %s: got %v, %q, want %q", layer, below, err, out, want)
			}
		}
		below = own
	}
}

// preprocess includes a header into a file of a layer.
func preprocess(dir, header, layer string) (string, error) {
	cc := exec.Command("cc", "-D_GNU_SOURCE", "-E", "-o", os.DevNull, "-I", dir, "-x", "c", "-")
	cc.Stdin = strings.NewReader("#define LAYER " + layer + "\n#include \"" + header + ".h\"\n")
	out, err := cc.CombinedOutput()
	return string(out), err
}
