// Package version has the version of our programs.
package version

import "runtime/debug"

// Release is the version that release.sh builds; empty otherwise.
var Release string

// String is the release, or else the commit from which the program was built, if it is known.
func String() string {
	if Release != "" {
		return Release
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return "development"
}
