//go:build darwin || freebsd || openbsd

package link

// fromDevice makes a link of the descriptor of a tun. It returns nil for another descriptor.
func fromDevice(fd int, features Features) (Link, error) {
	if _, err := tunName(fd); err != nil {
		return nil, nil //nolint:nilerr // another descriptor has no name
	}
	t, err := NewTun(fd, features.MTU)
	if err != nil {
		return nil, err // not t: a Link with a nil *Tun is not nil
	}
	return t, nil
}
