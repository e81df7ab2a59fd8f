package server

import "syscall"

// writev writes pieces one behind the other, as many bytes as the descriptor takes. The module
// x/sys has no system call for it on FreeBSD.
func writev(fd int, pieces [][]byte) (n int, err error) {
	for _, p := range pieces {
		took, err := syscall.Write(fd, p)
		if err != nil {
			if n > 0 {
				err = nil // the next call tells
			}
			return n, err
		}
		if n += took; took < len(p) {
			break
		}
	}
	return n, nil
}
