package link

import "errors"

// errRefused is never returned: datagram sockets of Plan 9 do not report this.
var errRefused = errors.New("connection refused")
