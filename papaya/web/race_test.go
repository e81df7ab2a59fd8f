//go:build race

package web

// underRace tells whether the race detector runs.
const underRace = true
