//go:build !race

package tcp

const raced = false
