//go:build !race

package gonet

// underRace tells whether the race detector runs.
const underRace = false
