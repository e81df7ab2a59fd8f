//go:build !race

package slirp

// underRace tells whether the race detector runs.
const underRace = false
