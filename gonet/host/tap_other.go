//go:build !linux

package host

import (
	"errors"

	"interleave/gonet/link"
)

func open(string) (link.Link, error) { return nil, errors.New("only Linux has taps") }
