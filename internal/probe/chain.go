package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"interleave/internal/group"
)

// A Chain is servers of one model of which each asks the next; clients ask the first. Most
// have one server.
type Chain []*Server

// StartChain starts so many servers, the last of them first, each with a port and a folder of its
// own, all on the same host. What one of them does wrong comes back as a *Failure; then nothing
// of any is left.
func StartChain(ctx context.Context, built *Built, opts StartOptions, length int) (Chain, error) {
	if length > 1 && !built.Model.Holds("{next}") {
		return nil,
			fmt.Errorf("services/%s/%s cannot stand in a chain: its run does not use {next}",
				built.Model.Service, built.Model.Name)
	}
	var c Chain
	for i := length; i > 0; i-- {
		s, err := Start(ctx, built, opts)
		if err != nil {
			c.Kill()
			return nil, inChain(err, i, length)
		}
		c = slices.Insert(c, 0, s)
		opts.Net, opts.Next = s.Net, s.url()
	}
	return c, nil
}

// inChain says of a failure whose it is.
func inChain(err error, place, length int) error {
	failure, ok := errors.AsType[*Failure](err)
	if !ok || length == 1 {
		return err
	}
	return &Failure{failure.Cause, fmt.Sprintf("%s; it is number %d of a chain of %d", failure.Text,
		place, length), failure.Tail}
}

// each asks all servers and returns what the first that is wrong says.
func (c Chain) each(ask func(*Server) error) (wrong error) {
	for i, s := range c {
		if err := ask(s); err != nil && wrong == nil {
			wrong = inChain(err, i+1, len(c))
		}
	}
	return wrong
}

// Check is that of all servers.
func (c Chain) Check() error { return c.each((*Server).Check) }

// CheckOwner is that of all servers.
func (c Chain) CheckOwner() error { return c.each((*Server).CheckOwner) }

// Stop asks all servers to end, the first of them first, so that none asks one that has gone. It
// returns the first wrong that it finds.
func (c Chain) Stop() error { return c.each((*Server).Stop) }

// Kill ends all without asking.
func (c Chain) Kill() {
	for _, s := range c {
		s.Kill()
	}
}

// Group is all processes of the chain.
func (c Chain) Group() *group.Several {
	groups := make([]*group.Group, len(c))
	for i, s := range c {
		groups[i] = s.Group
	}
	return group.Together(groups...)
}

// url is where clients find a server of HTTP.
func (s *Server) url() string { return "http://" + net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
