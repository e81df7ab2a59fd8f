// Package version has the version of GoNet's commands.
package version

import "runtime/debug"

// Release is the version that release.sh builds; empty otherwise.
var Release string

// String is the release, or else the version of the module from which the program was built: its
// tag, or the commit as Go writes it. go run and go test know neither.
func String() string {
	if Release != "" {
		return Release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}
