package host

import "interleave/gonet/link"

func open(device string) (link.Link, error) {
	tap, err := link.OpenTap(device)
	if err != nil {
		return nil, err // and no Link that holds a nil *Tap
	}
	return tap, nil
}
