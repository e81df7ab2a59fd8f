//go:build race

package tcp

// raced tells whether the race detector runs, which empties pools at random.
const raced = true
