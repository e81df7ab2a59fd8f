package version

import "testing"

func TestString(t *testing.T) {
	defer func(was string) { Release = was }(Release)
	for release, want := range map[string]string{"": "development", "v0.1.0": "v0.1.0"} {
		Release = release
		if got := String(); got != want {
			t.Errorf("the release %q: got %s, want %s", release, got, want)
		}
	}
}
