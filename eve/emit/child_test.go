package emit

import (
	"strings"
	"testing"
)

// A child in a branch or loop runs as a task also when its copies need constructors.
func TestCopiesOfChildren(t *testing.T) {
	for _, c := range []struct{ children, want string }{
		{"if n > 0:\n            @ [+a, =s]: a = s.size()",
			"kept_.keep(main__f__child1_args{&a, eve::move(s_1)})"},
		{"if n > 0:\n            @ [+a, =o]: a = (o else \"\").size()", "kept_.keep("},
		{"@ for (x: int& in v) [&x, =s]: x = s.size()", "x = s_1.size();"},
		{"@ for (x: int& in v) [&x, =s]:\n            s += \"y\"\n            x = s.size()",
			"auto s_2 = s_1;"},
	} {
		text := "f: (n: int, s: string, o: string?, v: slice<int>&) int:\n    a: int@\n    " +
			"finish:\n        " + c.children + "\n    return a\nmain: () void: pass\n"
		if got := units(t, text, nil, Options{})["main"]; !strings.Contains(got, c.want) {
			t.Errorf("no %q in\n%s", c.want, got)
		}
	}
}
