package link

import "golang.org/x/sys/windows"

// errRefused is the error of a datagram socket for an earlier datagram that found no receiver, and
// errTruncated that for a datagram that was longer than the buffer.
const (
	errRefused   = windows.WSAECONNRESET
	errTruncated = windows.WSAEMSGSIZE
)
