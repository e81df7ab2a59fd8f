package host

import "interleave/gonet/link"

func open(device string) (link.Link, error) {
	tap, err := link.OpenTap(device)
	if err != nil {
		return nil, err // not tap: a Link with a nil *Tap is not nil
	}
	return tap, nil
}
