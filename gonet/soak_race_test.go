//go:build race

package gonet

// underRace: the race detector runs. It takes memory of its own, and ends with more than
// 8128 goroutines.
const underRace = true
