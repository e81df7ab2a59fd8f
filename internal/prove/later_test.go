package prove

import "testing"

// TestRaceIsBuiltLast checks a run whose programs for the race detector are built when jobs without
// it have been started already: the jobs of that ring are all still known.
func TestRaceIsBuiltLast(t *testing.T) {
	c := newCheckout(t, map[string]string{
		RingsFile: small[RingsFile] + `
[[ring]]
name  = "race"
about = "what may race"

[[part]]
ring     = "race"
packages = ["two"]
tests    = ["TestTwo"]
race     = true
why      = "it may race"
`})
	c.o.Rings, c.o.AtOnce = []string{"core", "race"}, 1
	if report := c.mustRemember(false); report.Passed() != 2 {
		t.Errorf("%d tests have passed, want one of each ring\n%s", report.Passed(),
			c.out.String())
	}
}
