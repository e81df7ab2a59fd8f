//go:build race

package gonet

// underRace tells whether the race detector runs. It takes memory of its own, and fails with more
// than 8128 goroutines.
const underRace = true
