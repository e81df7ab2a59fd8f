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

// Compute and Printed give tests access to integer arithmetic and formatting.
var (
	Compute = compute
	Printed = printed
)
