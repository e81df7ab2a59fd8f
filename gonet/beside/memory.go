package main

import (
	"context"
	"runtime"

	"interleave/gonet/beside/host"
	"interleave/gonet/beside/host/gonethost"
	"interleave/gonet/beside/host/gvisorhost"
)

// pairs has the function of each stack that makes two hosts on a link in memory.
var pairs = map[string]func() (near, far host.Host, err error){
	"gonet":  gonethost.Pair,
	"gvisor": gvisorhost.Pair,
}

// idleStacks is how many pairs of stacks are made when their memory is measured.
const idleStacks = 500

// memory compares what stacks and connections keep while they do nothing, and what the same program
// does over a link in memory, each with its stack's own.
var memory = comparison{
	name: "memory", peer: "gvisor",
	title: "two stacks in one process on a link in memory",
	rows: []row{
		{name: "an idle stack of both families, KiB", limit: 100},
		{name: "an end of an idle connection, KiB", limit: 1.5},
		{name: "bulk, 1 connection, Gbit/s"},
		{name: "bulk, 1 connection, CPU s/GB"},
		{name: "connections/s, 16 clients"},
		{name: "a connection, CPU us"},
	},
	loads: []load{
		{"stacks", func(_ context.Context, c cell) (figures, error) {
			all := make([]host.Host, 0, 2*idleStacks)
			before := heap()
			for range idleStacks {
				near, far, err := pairs[c.stack]()
				if err != nil {
					return nil, err
				}
				all = append(all, near, far)
			}
			each := (heap() - before) / float64(len(all))
			runtime.KeepAlive(all)
			return figures{"an idle stack of both families, KiB": each / 1024}, nil
		}},
		{"idle", inMemory(func(ctx context.Context, p *pair, _ cell) (figures, error) {
			all, err := p.listen()
			if err != nil {
				return nil, err
			}
			defer all.Close()
			each, err := p.idle(ctx, all, openConns)
			return figures{"an end of an idle connection, KiB": each / 2 / 1024}, err
		})},
		{"bulk", inMemory(func(ctx context.Context, p *pair, c cell) (figures, error) {
			w, err := p.bulk(ctx, 1, false, c.lasts)
			return figures{"bulk, 1 connection, Gbit/s": w.gbits(),
				"bulk, 1 connection, CPU s/GB": w.cpuFor(1e9)}, err
		})},
		{"visits", inMemory(func(ctx context.Context, p *pair, c cell) (figures, error) {
			w, err := p.visits(ctx, visitors, c.lasts)
			return figures{"connections/s, 16 clients": w.rate(),
				"a connection, CPU us": w.cpuFor(1e6)}, err
		})},
	},
}

// visitors is how many clients open connections at once.
const visitors = 16

// inMemory runs a load between two hosts with a stack on a link in memory.
func inMemory(f func(context.Context, *pair, cell) (figures, error)) func(context.Context,
	cell) (figures, error) {
	return func(ctx context.Context, c cell) (figures, error) {
		near, far, err := pairs[c.stack]()
		if err != nil {
			return nil, err
		}
		return f(ctx, &pair{near: near, far: far, cpu: ownCPU}, c)
	}
}
