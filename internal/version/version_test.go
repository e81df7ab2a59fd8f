package version

import (
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"},
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}}
	const made = "v0.0.0-20261126014600-0123456789ab"
	for _, test := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", nil, "v1.2.3"},              // go install …@v1.2.3
		{"v1.2.3-rc.1", commit, "v1.2.3-rc.1"}, // go build at a tag
		{made, nil, made},                      // go install …@main
		{"v1.2.4-0.20261126014600-0123456789ab", nil, "v1.2.4-0.20261126014600-0123456789ab"},
		{made, commit, "0123456789ab"},            // go build in a checkout
		{made + "+dirty", commit, "0123456789ab"}, // with changes
		{"(devel)", commit, "0123456789ab"},
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}, "abc"},
		{"(devel)", nil, "development"}, // go run, go test
		{"", nil, "development"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: test.version},
			Settings: test.settings}
		if got := describe(info); got != test.want {
			t.Errorf("%s, %v: %s, want %s", test.version, test.settings, got, test.want)
		}
	}
}

func TestRelease(t *testing.T) {
	defer func(was string) { Release = was }(Release)
	Release = "v0.1.0"
	if got := String(); got != "v0.1.0" {
		t.Errorf("got %s", got)
	}
}
