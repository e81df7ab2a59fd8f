// Package chatmatrix builds c-process for every system that a compiler here can reach, and plays the transcripts of the
// service against each build that this machine can run, itself or through qemu-user. One source tree; what is missing is
// a row that says what to install.
//
//	go test -count=1 -timeout 30m -v -run TestMatrix ./cmd/chatmatrix -args -matrix [target...]
//
// A row is TARGET, BUILT (yes, no or skip), TESTS PASSED, TESTS PLAYED and a note, with tabs between.
package chatmatrix
