// Package differential compares the interpreter with compiled programs. Both must print the same,
// for every program of testdata/run and for hundreds of generated ones, under several schedules of
// the interpreter and several numbers of workers. The same programs run under the thread
// sanitizer: a race that it finds in an accepted program is a bug of the checker.
package differential
