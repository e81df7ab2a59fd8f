//go:build !race

package eve_test

const underRace = false
