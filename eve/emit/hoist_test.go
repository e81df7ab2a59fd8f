package emit

import (
	"strings"
	"testing"
)

// If a test before a loop can prove all indexes, the loop is also written without checks; not if
// the test would not hold for all turns.
func TestHoistedIndexes(t *testing.T) {
	for _, c := range []struct {
		body, want string
		checked    bool
	}{
		{"for (i in 0..n): k += v[i]", "eve::covers(0, t1_, t2_.size())", false},
		{"for (i in n..9): k += v[i - 2]", "eve::covers(t2_ - 2, t1_ - t2_, t3_.size())", false},
		{"for (i in 0..n): k += v[n * 3 + i] + s[n]",
			"eve::covers((n * 3) + 0, t1_, t2_.size()) && eve::covers(n, 1, s.size())", false},
		{"for (i in 0..n): k += p.v[p.n + i]", "eve::covers(p.n + 0, t1_, t2_.size())", false},
		{"for (i in 0..n):\n        p.n += 1\n        k += v[p.n + i]", "", false},
		{"for (i in 0..n): k += v[i * 2]", "", false},
		{"for (i in 0..n): k += v[n - i]", "", false},
		{"for (i in 0..n):\n        n += 1\n        k += v[n + i]", "", false},
		{"for (i in 0..n):\n        v.push(1)\n        k += v[i]", "", false},
		{"for (i in 0..n):\n        p.v = [1]\n        k += p.v[i]", "", false},
		{"for (i in 0..n): k += g(p) + v[i]", "", false},
		{"for (i: int<8> in 0..int<8>(n)): k += v[i]", "", false},
		{"for (i in 0..n): k += v[i]", "eve::covers(0, t1_, t2_.size())", true},
		{"for (i in 0..n): k += v[i + 1]", "", true},
		{"for (i: int = 0; i < n; i += 1): k += v[i]", "eve::covers(0, t1_, t2_.size())", false},
		{"for (i: int = 0; i < n; i += 1): k += v[i]", "eve::covers(0, t1_, t2_.size())", true},
		{"for (i: int = 0; i < n; i += 2): k += v[i]", "", false},
		{"for (i: int = 0; i < n; i += 1):\n        v.push(1)\n        k += v[i]", "", false},
		{"i: int = 2\n    while i < n:\n        k += v[i]\n        i += 1",
			"eve::covers(t2_, t1_ - t2_, t3_.size())", false},
		{"i: int = 2\n    while i < n:\n        k += v[i]\n        i = i + 1",
			"for (; i < t1_; i++) {", true},
		{"i: int = 2\n    while i < n:\n        i += 1\n        k += v[i - 1]", "", false},
		{"i: int = 2\n    while i < n:\n        if i == 4: continue\n        k += v[i]\n" +
			"        i += 1", "", false},
	} {
		text := units(t,
			"type part:\n    n: int\n    v: vector<int>\ng: (p: part&) int:\n    p.v = [1]\n    "+
				"return 1\nf: (=v: vector<int>, s: slice<int>&, p: part&, =n: int) int:\n    k: "+
				"int = 0\n    "+
				c.body+"\n    return k\nmain: () void: pass\n", nil,
			Options{Checked: c.checked})["main"]
		if c.want == "" && strings.Contains(text, "eve::covers") ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: want %q in\n%s", c.body, c.want, text)
		}
	}
}
