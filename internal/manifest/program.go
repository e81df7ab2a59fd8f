package manifest

import "fmt"

// Programs: services that are no servers. A program is told on its command line what to solve, and
// prints the result and the time of each solution.

// Program is the protocol of such services.
const Program = "program"

// Solve is the shape without connections: a program solves a problem again and again.
const Solve Shape = "solve"

// KernelTransfer is the kernel of programs that transfer bytes over a loopback: their
// result is how many.
const KernelTransfer = "transfer"

// SolveTime is in milliseconds the time to solve the problem once, median of the window.
const SolveTime Metric = "time"

var programFamily = Family{
	Name:      "program",
	Protocols: []Protocol{{Name: Program}},
	shapes: []shapeRow{{shape: Solve, keys: "kernel problem workers answer", needs: []must{
		{"kernel", `what is solved, such as "fib"`},
		{"problem", "how big the problem is, such as 32"},
		{"answer", "what comes out, as the programs print it"},
		{"workers", "how many threads may work at it, such as 2"},
	}}},
	keys: []loadKey{
		word("kernel", nil, func(l *Load) *string { return &l.Kernel }),
		amount("problem", counts, 1, mostProblem, func(l *Load) *int64 { return &l.Problem }),
		swept("workers", counts, 1, mostWorkers, func(l *Load) *int { return &l.Workers }),
		word("answer", nil, func(l *Load) *string { return &l.Answer }),
	},
	metrics: []metricRow{
		{SolveTime, MetricInfo{"ms", "time to solve", false,
			"took {ratio}x {b}'s time",
			"took {ratio} ms"}, needsProblem},
	},
	owns: func(l Load) bool { return l.Shape == Solve },
	fits: func(l Load, protocol string) (key string, err error) {
		if (protocol == Program) != (l.Shape == Solve) {
			return "shape",
				fmt.Errorf("shape %q and the protocol %q do not go together: programs are given "+
					"problems to solve, servers are not", l.Shape, protocol)
		}
		return "", nil
	},
	carries: func(l Load) bool { return l.Kernel == KernelTransfer },
}

func needsProblem(l Load) (needs string) {
	if l.Shape != Solve {
		return `a point of shape "solve"`
	}
	return ""
}
