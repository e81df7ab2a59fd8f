package run

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/proc"
)

// A hundred thousand connections and more need files and kernel memory of this machine.

const (
	// otherFiles are the files that a server and the load open besides their connections: a JVM
	// opens hundreds, and as many again are left.
	otherFiles = 1024
	// kernelBytes is the kernel's memory for both ends of a connection over loopback, measured
	// here: 10 KB. A server's own part comes on top, and is seen while the connections are made
	// (load.leastMemory).
	kernelBytes = 10_500
	// sparedBytes stay free beside it.
	sparedBytes = 1 << 30
	// slowRamp is by how much a server may be slower than the rate at which its connections come.
	slowRamp = 8
)

// endsIn is how many connections the kernel closes within serve.Grace, several times over: with
// 10,000 it takes a tenth of a second.
const endsIn = 50_000

// rampTime is how long the connections of a load take to be made, at a rate of its own; 0: they are
// made at once.
func rampTime(l manifest.Load) time.Duration { return load.FamilyOf(l).Ramp(l) }

// makeRoom raises what this process may raise, for the server and the load that it starts, and says
// what is missing.
func makeRoom(s *Spec, m *manifest.Model, opts *serve.StartOptions) error {
	n := s.Point.Load.Connections
	opts.Grace = serve.Grace * time.Duration(max(1, n/endsIn))
	opts.OpenFiles = n + otherFiles
	most, err := raiseFiles(uint64(opts.OpenFiles))
	switch {
	case err != nil && (most == 0 || !m.Tables):
		return fmt.Errorf("%d connections need %d open files: %w", n, opts.OpenFiles, err)
	// a table of descriptors holds so many, and the server and the load take more tables
	case err != nil:
		opts.OpenFiles = int(most)
	}
	available, _, ok := proc.ParseMemory(new(proc.Reader).Path("/proc/meminfo"))
	if need := int64(n)*kernelBytes + sparedBytes; ok && available < need {
		return fmt.Errorf("%d connections take about %d MiB of the kernel's memory, and %d MiB "+
			"are to be had", n, need>>20, available>>20)
	}
	return nil
}

// raiseFiles raises the hard limit of open files, which needs CAP_SYS_RESOURCE, and the kernel's
// fs.nr_open bounds. Children inherit it. The soft limit stays, for some run times lay out a table
// for as many files as they may open. It returns the hard limit, raised or not.
func raiseFiles(need uint64) (most uint64, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the limit: %w", err)
	}
	if limit.Max >= need {
		return limit.Max, nil
	}
	was := limit.Max
	limit.Max = need
	switch err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); {
	case errors.Is(err, unix.EPERM):
		return was,
			fmt.Errorf("the limit is %d, and only root outside of a container may raise it: "+
				"ulimit -Hn %d, and sysctl -w fs.nr_open=%d if that is less", was, need, need)
	case err != nil:
		return was, fmt.Errorf("raising the limit: %w", err)
	}
	return need, nil
}
