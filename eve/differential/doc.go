// Package differential holds the interpreter and compiled programs against each other: what both
// print must be the same, for every program of testdata/run and for hundreds of generated ones,
// under several schedules of the one and several numbers of workers of the other. The same
// programs run under the thread sanitizer: a race that it finds in an accepted program is a
// mistake of the checker.
package differential
