//go:build !windows

package link

import "errors"

// errTruncated is never returned: datagrams that are longer than the buffer are cut without an
// error.
var errTruncated = errors.New("datagram too long")
