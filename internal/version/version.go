// Package version has the version of our programs.
package version

import (
	"regexp"
	"runtime/debug"
)

// Release is the version that release.sh builds; empty otherwise.
var Release string

// String is the release, or else what is known of the source from which the program was built.
func String() string {
	if Release != "" {
		return Release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "development"
	}
	return describe(info)
}

// pseudo matches a version that Go makes of a commit: v0.0.0-20261126014600-0123456789ab+dirty.
var pseudo = regexp.MustCompile(`[.-][0-9]{14}-[0-9a-f]{12}(\+|$)`)

// describe returns the tag from which a program was built, or the commit. `go install` of a module
// knows only the version, and `go build` in a checkout also the commit.
func describe(info *debug.BuildInfo) string {
	v := info.Main.Version
	tagged := v != "" && v != "(devel)"
	if tagged && !pseudo.MatchString(v) {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	if tagged {
		return v
	}
	return "development"
}
