// Package version says which version of our programs this is.
package version

import "runtime/debug"

// Release is the version that release.sh builds; empty otherwise.
var Release string

// String is the release, or the commit that the program was built from, as far as it is known.
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
