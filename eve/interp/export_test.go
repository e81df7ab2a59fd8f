package interp

import "maps"

// Natives are the names of all native functions, for tests.
func Natives() map[string]bool {
	names := map[string]bool{}
	for name := range maps.Keys(natives) {
		names[name] = true
	}
	for name := range maps.Keys(asyncs) {
		names[name] = true
	}
	return names
}

// Compute and Printed are how integers are computed and values written, for tests.
var (
	Compute = compute
	Printed = printed
)
