//go:build !freebsd

package server

import "golang.org/x/sys/unix"

// writev writes pieces one behind the other, as many bytes as the descriptor takes.
func writev(fd int, pieces [][]byte) (int, error) { return unix.Writev(fd, pieces) }
