package prove

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChangedMeanwhile has somebody change, add and remove files while the tests run. The result is
// not one of the files that the run has found, and is not remembered with them.
func TestChangedMeanwhile(t *testing.T) {
	c := newCheckout(t, map[string]string{
		"elsewhere/text": "a text",
		"three/three_test.go": `package three

import (
	"errors"
	"os"
	"testing"
)

func TestEdits(t *testing.T) {
	do := os.Getenv("SMALL")
	var err error
	switch do {
	case "change":
		err = os.WriteFile("../elsewhere/text", []byte("other"), 0o644)
	case "add":
		err = os.WriteFile("../elsewhere/new", nil, 0o644)
	case "remove":
		err = os.Remove("../elsewhere/new")
	case "touch":
		err = os.WriteFile("../elsewhere/text", []byte("other"), 0o644)
	case "litter":
		err = errors.Join(os.WriteFile("../elsewhere/other", nil, 0o644),
			os.Remove("../elsewhere/other"))
	}
	if err != nil {
		t.Error(err)
	}
}
`})
	c.o.Packages = []string{"three"}
	for _, one := range []struct{ do, says string }{
		{"change", "changed elsewhere/text since"},
		{"add", "changed elsewhere/new since"},
		{"remove", "changed elsewhere/new since"},
		{"touch", ""},
		{"litter", ""},
	} {
		t.Setenv("SMALL", one.do)
		c.mustRemember(false)
		said := c.out.String()
		if strings.Contains(said, "not remembered") != (one.says != "") ||
			!strings.Contains(said, one.says) {
			t.Errorf("%s: the output lacks %q:\n%s", one.do, one.says, said)
		}
		kept, err := filepath.Glob(filepath.Join(Out(c.root), "memory", "*"))
		if err != nil || (len(kept) > 0) != (one.says == "") {
			t.Errorf("%s: results that are remembered: %q, %v", one.do, kept, err)
		}
		if one.says == "" {
			c.mustRemember(true)
		}
	}
}

// TestUnknown has a system that does not tell its packages. Nobody knows whether they are those of
// an earlier result.
func TestUnknown(t *testing.T) {
	c := newCheckout(t, nil)
	if err := os.Remove(filepath.Join(c.root, "out/packages")); err != nil {
		t.Fatal(err)
	}
	c.mustRemember(false)
	c.mustRemember(false)
}

// TestCovered finds files in lists of files, folders and patterns.
func TestCovered(t *testing.T) {
	for _, test := range []struct {
		reads []string
		name  string
		want  bool
	}{
		{nil, "a", true},
		{[]string{"a"}, "a", true},
		{[]string{"a"}, "a/b/c", true},
		{[]string{"a"}, "ab", false},
		{[]string{"b", "a/b"}, "a/b", true},
		{[]string{"a/b"}, "a", false},
		{[]string{"a/*/c-*"}, "a/b/c-d/e", true},
		{[]string{"a/*/c-*"}, "a/b/c-d", true},
		{[]string{"a/*/c-*"}, "a/b/d/c-d", false},
		{[]string{"a/*/c-*"}, "a/b", false},
		{[]string{"a/*/c-*"}, "b/b/c-d", false},
	} {
		if got := covered(test.reads, test.name); got != test.want {
			t.Errorf("%q in %q: %v", test.name, test.reads, got)
		}
	}
}
