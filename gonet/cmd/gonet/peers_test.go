package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkPeers measures `gonet slirp` beside those of slirp4netns, pasta and gvproxy that are
// installed, in turn within each round:
//
//	go test -run '^$' -bench Peers -benchtime 5x -timeout 1h ./gonet/cmd/gonet
//
// The number behind benchtime is that of the rounds. docs/gonet/measurements.md has its output.
func BenchmarkPeers(b *testing.B) {
	p := startPeers(b, time.Second/2, len(peerPrograms), 10_000)
	var rounds []peerRound
	for b.Loop() {
		rounds = append(rounds, p.round())
	}
	p.end()
	fmt.Printf("\n%s", peersTable(rounds)) // a log of a benchmark has ten lines
}

// TestPeers measures one short round, of `gonet slirp` alone. It holds that the benchmark works,
// not how fast anything is.
func TestPeers(t *testing.T) {
	if err := namespaceError(); err != nil {
		t.Skipf("SKIP: a network namespace with a tap (root or user namespaces, iproute2, "+
			"/dev/net/tun): %v", err)
	}
	p := startPeers(t, 50*time.Millisecond, 1, 100)
	r := p.round()
	p.end()
	ours := 0
	for _, s := range r.Samples {
		if s.Rate <= 0 {
			t.Errorf("%+v", s)
		}
		if s.Peer == peerPrograms[0].name {
			ours++
		}
	}
	if all := len(peerCells()); ours != all {
		t.Errorf("%d cells of %d", ours, all)
	}
	if r.Idle["gonet slirp"] <= 0 || r.Most["gonet slirp"] < r.Idle["gonet slirp"] ||
		r.Stalled["gonet slirp"] < r.Idle["gonet slirp"] {
		t.Errorf("memory: %v, %v, %v", r.Idle, r.Most, r.Stalled)
	}
	t.Log("\n" + peersTable([]peerRound{r}))
}

// peersRun is the benchmark's program in namespaces of its own.
type peersRun struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said strings.Builder
}

// startPeers builds the command, and starts the benchmark of so many programs. Each load lasts as
// long as it says, and so many connections are opened that nobody reads.
func startPeers(t testing.TB, lasts time.Duration, programs, stalled int) *peersRun {
	t.Helper()
	dir := t.TempDir()
	gonet := filepath.Join(dir, "gonet")
	if out, err := exec.Command("go", "build", "-o", gonet, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"load", "peersbench"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := &peersRun{t: t, cmd: exec.Command("unshare", "-rnmpf", "--mount-proc", "--kill-child",
		filepath.Join(dir, "peersbench"), lasts.String(), strconv.Itoa(programs),
		strconv.Itoa(stalled))}
	p.cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+dir)
	p.cmd.Stderr = &p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it has ended, unless the test has failed
	return p
}

// round measures a round.
func (p *peersRun) round() (r peerRound) {
	p.t.Helper()
	_, err := io.WriteString(p.in, "\n")
	var line []byte
	if err == nil {
		line, err = p.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // what it has said is all
		p.t.Fatalf("%v\n%s", err, p.said.String())
	}
	return r
}

// end ends the program, and reports which peers are not there.
func (p *peersRun) end() {
	p.t.Helper()
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%v\n%s", err, p.said.String())
	}
	if p.said.Len() > 0 {
		p.t.Log(p.said.String())
	}
}

// peersTable returns the tables of rounds: medians of the rounds, and in brackets ours over those
// of another program within each round: the median, the least and the most.
func peersTable(rounds []peerRound) string {
	var out strings.Builder
	peers := presentPeers(rounds)
	head := func(first string) {
		fmt.Fprintf(&out, "| %s | %s |\n|%s\n", first, strings.Join(peers, " | "),
			strings.Repeat("---|", len(peers)+1))
	}
	row := func(name string, value func(peerRound, string) float64) {
		fmt.Fprintf(&out, "| %s |", name)
		for _, peer := range peers {
			var all, ratios []float64
			for _, r := range rounds {
				if v := value(r, peer); v > 0 {
					all, ratios = append(all, v), append(ratios, value(r, peers[0])/v)
				}
			}
			if len(all) == 0 {
				out.WriteString(" failed |")
				continue
			}
			fmt.Fprintf(&out, " %s", figure(middle(all)))
			if peer != peers[0] {
				fmt.Fprintf(&out, " (%s, %s to %s)", figure(middle(ratios)),
					figure(slices.Min(ratios)), figure(slices.Max(ratios)))
			}
			out.WriteString(" |")
		}
		out.WriteString("\n")
	}
	head("CPU time of the process: s/GB, and us for a connect")
	for _, c := range peerCells() {
		row(c.String(), func(r peerRound, peer string) float64 { return r.of(c, peer).CPU })
	}
	out.WriteString("\n")
	head("Gbit/s, and the median of a connect in us")
	for _, c := range peerCells() {
		row(c.String(), func(r peerRound, peer string) float64 { return r.of(c, peer).Rate })
	}
	out.WriteString("\n")
	head("memory of the process in MiB")
	row("at the start", func(r peerRound, peer string) float64 { return r.Idle[peer] })
	row("at most", func(r peerRound, peer string) float64 { return r.Most[peer] })
	row("at most, with connections that nobody reads",
		func(r peerRound, peer string) float64 { return r.Stalled[peer] })
	return out.String()
}

// of returns the sample of a cell and a peer.
func (r peerRound) of(c peerCell, peer string) peerSample {
	i := slices.IndexFunc(r.Samples, func(s peerSample) bool {
		return s.Cell == c.String() && s.Peer == peer
	})
	if i < 0 {
		return peerSample{}
	}
	return r.Samples[i]
}

// presentPeers returns the programs that were measured.
func presentPeers(rounds []peerRound) (names []string) {
	for _, p := range peerPrograms {
		if rounds[0].Idle[p.name] > 0 {
			names = append(names, p.name)
		}
	}
	return names
}

// middle returns the median.
func middle(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// figure returns a number with two digits at least.
func figure(v float64) string {
	switch {
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return strings.TrimPrefix(fmt.Sprintf("%.2f", v), "0")
}
