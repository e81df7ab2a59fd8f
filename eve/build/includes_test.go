package build

import (
	"maps"
	"testing"
)

// The hash of what a text includes changes with each file that is reached, and with no other.
func TestIncludes(t *testing.T) {
	files := map[string]string{
		"a.hpp":      "#pragma once\n#include \"sub/b.hpp\"\n#include <vector>\n",
		"sub/b.hpp":  "  # include \"../c.hpp\"\n#include \"b.hpp\"\n",
		"c.hpp":      "#include \"a.hpp\"\n// in a circle\n",
		"other.hpp":  "int other;\n",
		"in/own.hpp": "",
	}
	const text = `#include "a.hpp"
// "other.hpp"
char s[] = "#include \"other.hpp\"";
`
	hash := func(change string) string {
		t.Helper()
		changed := maps.Clone(files)
		if change != "" {
			changed[change] += "// changed\n"
		}
		got, whole := includes(text, ".", func(name string) (string, bool) {
			text, ok := changed[name]
			return text, ok
		})
		if !whole {
			t.Error("a file was not found")
		}
		return got
	}
	before := hash("")
	for name, counts := range map[string]bool{"a.hpp": true, "sub/b.hpp": true, "c.hpp": true,
		"other.hpp": false, "in/own.hpp": false} {
		if changed := hash(name) != before; changed != counts {
			t.Errorf("the hash changes with %s: %v, want %v", name, changed, counts)
		}
	}
	read := func(name string) (string, bool) { text, ok := files[name]; return text, ok }
	if _, whole := includes("#include \"../c.hpp\"\n#include \"own.hpp\"", "in", read); !whole {
		t.Error("files beside the text and above it were not found")
	}
	if _, whole := includes("#include \"none.hpp\"", ".", read); whole {
		t.Error("a file that is not there was found")
	}
}

// A unit includes most of the runtime's headers, but none of its sources.
func TestHeadersOfUnits(t *testing.T) {
	all := runtimeFiles()
	read := func(name string) (string, bool) { text, ok := all[name]; return text, ok }
	if _, whole := includes("#include \"eve.hpp\"\n", ".", read); !whole {
		t.Error("a header of the runtime includes one that is not there")
	}
	if headersOf("#include \"eve.hpp\"\n") == headersOf("#include \"string.hpp\"\n") {
		t.Error("two units with different headers have one hash")
	}
}
