package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"interleave/internal/group"
	"interleave/internal/probe/toolchain"
)

// A Chain is a list of servers of one model of which each asks the next; clients ask the first.
// Most chains have one server.
type Chain []*Server

// StartChain starts a chain of servers on one host, the last of them first, each with a port and a
// folder of its own. If one does something wrong, the error is a *Failure, and no server is left.
func StartChain(ctx context.Context, built *toolchain.Built, opts StartOptions,
	length int) (Chain, error) {
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

// inChain adds to a failure which server of the chain has failed.
func inChain(err error, place, length int) error {
	failure, ok := errors.AsType[*Failure](err)
	if !ok || length == 1 {
		return err
	}
	return &Failure{failure.Cause, fmt.Sprintf("%s; it is number %d of a chain of %d", failure.Text,
		place, length), failure.Tail}
}

// each asks all servers and returns the first error.
func (c Chain) each(ask func(*Server) error) (wrong error) {
	for i, s := range c {
		if err := ask(s); err != nil && wrong == nil {
			wrong = inChain(err, i+1, len(c))
		}
	}
	return wrong
}

// Check is Server.Check of all servers.
func (c Chain) Check() error { return c.each((*Server).Check) }

// CheckOwner is Server.CheckOwner of all servers.
func (c Chain) CheckOwner() error { return c.each((*Server).CheckOwner) }

// Stop asks all servers to end, the first of them first, so that no server asks one that has gone.
// It returns the first error.
func (c Chain) Stop() error { return c.each((*Server).Stop) }

// Kill ends all servers without asking.
func (c Chain) Kill() {
	for _, s := range c {
		s.Kill()
	}
}

// Group has all processes of the chain.
func (c Chain) Group() *group.Several {
	groups := make([]*group.Group, len(c))
	for i, s := range c {
		groups[i] = s.Group
	}
	return group.Together(groups...)
}

// url is the address of a server of HTTP.
func (s *Server) url() string { return "http://" + net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
