package main

import (
	"errors"
	"fmt"
	"net"

	"interleave/papaya/config"
)

// earlyListeners are the listeners for clients, which are opened before the log is read. A client
// that comes back while the server starts so waits for a moment. It would be refused otherwise, and
// come back after a longer pause.
type earlyListeners struct{ open map[string][]net.Listener } // by their addresses as they are set

// listenEarly opens all listeners for clients. The caller holds the lock of the data folder, so no
// other server starts on it.
func listenEarly(c *config.Config) (*earlyListeners, error) {
	e := &earlyListeners{map[string][]net.Listener{}}
	for _, addresses := range [][]string{c.Plain, c.TLS, c.Web, c.Proxied, c.ProxiedWeb} {
		for _, address := range addresses {
			l, err := listen("tcp", address)
			if err != nil {
				return nil, errors.Join(err, e.close())
			}
			e.open[address] = append(e.open[address], l)
		}
	}
	return e, nil
}

// take returns the listener of an address. It is for server.Config.Listen.
func (e *earlyListeners) take(_, address string) (net.Listener, error) {
	list := e.open[address]
	if len(list) == 0 {
		return nil, fmt.Errorf("%s was not opened", address)
	}
	e.open[address] = list[1:]
	return list[0], nil
}

// close closes the listeners that nobody has taken.
func (e *earlyListeners) close() (err error) {
	for address, list := range e.open {
		for _, l := range list {
			err = errors.Join(err, l.Close())
		}
		delete(e.open, address)
	}
	return err
}
