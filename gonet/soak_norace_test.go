//go:build !race

package gonet

// underRace: the race detector runs.
const underRace = false
