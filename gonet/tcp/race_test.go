//go:build race

package tcp

// raced: the race detector runs, and has pools forget at random.
const raced = true
