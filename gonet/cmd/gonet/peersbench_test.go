package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The hosts of the benchmark. "Outside" is a network namespace behind a veth pair, whose second
// address is that of the servers: pasta gives its guest the host's own address, and maps the
// gateway's to the host.
const (
	hostPrefix    = "203.0.113.9/24"
	outsideRouter = "203.0.113.1"
	outsideServer = "203.0.113.7"
	outsidePort   = 5001
	firstForward  = 6001 // the port of the host that is forwarded to the first guest
)

// peerCell is what is measured by one load.
type peerCell struct {
	kind       string // of the load
	flows, mtu int
	inward     bool // from the outside by a port forward
}

func (c peerCell) String() string {
	name := map[string]string{"tcp": "TCP out", "udp": "UDP there and back",
		"super": "UDP there and back, 32 by one call", "connect": "connect"}[c.kind]
	if c.inward {
		name = "TCP in"
	}
	if c.kind == "connect" {
		return name
	}
	if c.flows == 1 {
		return fmt.Sprintf("%s, 1 flow, MTU %d", name, c.mtu)
	}
	return fmt.Sprintf("%s, %d flows, MTU %d", name, c.flows, c.mtu)
}

// peerCells returns all cells.
func peerCells() (all []peerCell) {
	for _, mtu := range []int{1500, 65520} {
		for _, flows := range []int{1, 100} {
			all = append(all, peerCell{"tcp", flows, mtu, false}, peerCell{"tcp", flows, mtu, true})
		}
	}
	for _, flows := range []int{1, 100} {
		all = append(all, peerCell{"udp", flows, 1500, false})
	}
	return append(all, peerCell{"super", 1, 1500, false}, peerCell{"connect", 1, 1500, false})
}

// peerSample is what one load has shown of one program.
type peerSample struct {
	Cell, Peer string
	Rate       float64 // Gbit/s; for connects the median of one in us
	CPU        float64 // of the program's process: s/GB; for connects us
}

// peerRound is what a round of all cells has shown. The memory of a process is in MiB: after it has
// started, at most, and at most with connections that nobody reads.
type peerRound struct {
	Samples             []peerSample
	Idle, Most, Stalled map[string]float64
}

// peerProgram is a program that connects a guest.
type peerProgram struct {
	name, file, hint string // hint says what to install, most of them as packages of Debian
	start            func(i *peerGuest) error
}

var peerPrograms = []peerProgram{
	{"gonet slirp", "gonet", "", func(i *peerGuest) error { return i.startSlirp("slirp") }},
	{"slirp4netns", "/usr/bin/slirp4netns", "slirp4netns",
		func(i *peerGuest) error { return i.startSlirp() }},
	{"pasta", "/usr/bin/pasta", "passt", (*peerGuest).startPasta},
	{"gvproxy", "gvproxy", "github.com/containers/gvisor-tap-vsock/cmd/gvproxy by go install",
		(*peerGuest).startGvproxy},
}

// peerGuest is a guest of one program.
type peerGuest struct {
	program    peerProgram
	mtu, port  int
	guest, pid int // processes: one in the guest's namespace, and the program's
	idle       float64
	said       bytes.Buffer // standard error of the program
}

// peersBench is the program in the namespace of the host, `peersbench TIME PROGRAMS STALLED`, for
// so many programs of the list and connections that nobody reads. For each line of its input it
// measures a round, and prints it. All that it starts ends with it: it is the first process of a
// namespace.
func peersBench() {
	lasts, err := time.ParseDuration(os.Args[1])
	fail(err)
	programs, err := strconv.Atoi(os.Args[2])
	fail(err)
	stalled, err := strconv.Atoi(os.Args[3])
	fail(err)
	outside, err := holdNamespaces(false)
	fail(err)
	fail(hostNetwork(outside))
	fail(startServer(inOutside(outside), outsideServer, outsidePort))
	guests, err := startGuests(peerPrograms[:programs])
	fail(err)
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		r := peerRound{Idle: map[string]float64{}, Most: map[string]float64{},
			Stalled: map[string]float64{}}
		for _, c := range peerCells() {
			for _, g := range guests {
				if g.mtu != c.mtu {
					continue
				}
				switch s, err := g.measure(c, outside, lasts); {
				case err == nil:
					r.Samples = append(r.Samples, s)
				case g.program.hint == "": // ours
					fail(fmt.Errorf("%v: %w\n%s", c, err, g.said.String()))
				default: // as pasta of Debian 12 does with 100 connections
					fmt.Fprintf(os.Stderr, "%s, %v: %v\n", g.program.name, c, err)
				}
			}
		}
		for _, g := range guests {
			if g.mtu == 1500 {
				r.Idle[g.program.name] = g.idle
				r.Most[g.program.name] = memoryOf(g.pid, "VmHWM")
				if r.Stalled[g.program.name], err = g.stall(stalled, 20*lasts); err != nil {
					fmt.Fprintf(os.Stderr, "%s, connections that nobody reads: %v\n",
						g.program.name, err)
				}
			}
		}
		fail(out.Encode(r))
	}
}

// holdNamespaces starts a process that keeps a network namespace, and for a guest also a user
// namespace in which it is root.
func holdNamespaces(guest bool) (pid int, err error) {
	cmd := exec.Command("sleep", "infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if guest {
		root := []syscall.SysProcIDMap{{Size: 1}}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = root, root
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// Commands that run beside another process.
func inOutside(pid int) []string { return []string{"nsenter", "-t", strconv.Itoa(pid), "-n"} }
func inGuest(pid int) []string {
	return append(inOutside(pid), "-U", "--preserve-credentials")
}

// runWords runs a command.
func runWords(words ...string) error {
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, out)
	}
	return nil
}

// hostNetwork connects this namespace with the outside.
func hostNetwork(outside int) error {
	pid := strconv.Itoa(outside)
	for _, line := range []string{
		"link set lo up",
		"link add out0 type veth peer name in0 netns " + pid,
		"link set out0 up",
		"addr add " + hostPrefix + " dev out0",
		"route add default via " + outsideRouter,
	} {
		if err := runWords(append([]string{"ip"}, strings.Fields(line)...)...); err != nil {
			return err
		}
	}
	for _, line := range []string{"link set lo up", "link set in0 up",
		"addr add " + outsideRouter + "/24 dev in0", "addr add " + outsideServer + "/24 dev in0"} {
		words := append(inOutside(outside), "ip")
		if err := runWords(append(words, strings.Fields(line)...)...); err != nil {
			return err
		}
	}
	return nil
}

// startServer starts the server of loads, and returns when it is ready.
func startServer(where []string, address string, port int) error {
	words := append(where, "load", "serve", net.JoinHostPort(address, strconv.Itoa(port)))
	if err := startReady(words); err != nil {
		return fmt.Errorf("the server at %s: %w", address, err)
	}
	return nil
}

// startReady starts a program, and returns when it has printed a line.
func startReady(words []string) error {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return err
}

// startGuests starts a guest of each program that is installed, for each MTU.
func startGuests(programs []peerProgram) (all []*peerGuest, err error) {
	var installed []peerProgram
	for _, p := range programs {
		if _, err := exec.LookPath(p.file); err != nil {
			fmt.Fprintf(os.Stderr, "SKIP %s: install %s\n", p.name, p.hint)
			continue
		}
		installed = append(installed, p)
	}
	for _, mtu := range []int{1500, 65520} {
		for _, p := range installed {
			g := &peerGuest{program: p, mtu: mtu, port: firstForward + 2*len(all)}
			if g.guest, err = holdNamespaces(true); err != nil {
				return nil, err
			}
			if err := p.start(g); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", p.name, err, g.said.String())
			}
			if err := startServer(inGuest(g.guest), "0.0.0.0", g.port); err != nil {
				return nil, err
			}
			g.idle = memoryOf(g.pid, "VmRSS")
			all = append(all, g)
		}
	}
	return all, nil
}

// startSlirp starts a program with the command line and the API of slirp4netns.
func (g *peerGuest) startSlirp(words ...string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	api := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("api%d", g.port))
	words = append(words, "-c", "-m", strconv.Itoa(g.mtu), "-r", "3", "-a", api,
		strconv.Itoa(g.guest), slirpName)
	cmd := exec.Command(g.program.file, words...)
	cmd.Stderr, cmd.ExtraFiles = &g.said, []*os.File{w}
	err = cmd.Start()
	_ = w.Close() // the program has its own
	if err != nil {
		return err
	}
	g.pid = cmd.Process.Pid
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		return fmt.Errorf("it is not ready: %w", err)
	}
	c, err := net.Dial("unix", api)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(c, `{"execute": "add_hostfwd", "arguments": {"proto": "tcp", `+
		`"host_addr": "0.0.0.0", "host_port": %d, "guest_addr": "10.0.2.100", "guest_port": %d}}`,
		g.port, g.port)
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if err != nil || !bytes.Contains(answer, []byte("return")) {
		return fmt.Errorf("add_hostfwd: %w: %s", err, answer)
	}
	return nil
}

// startPasta starts pasta, which writes its PID to a file when it is ready.
func (g *peerGuest) startPasta() error {
	file := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("pid%d", g.port))
	cmd := exec.Command(g.program.file, "-f", "-4", "--config-net", "-m", strconv.Itoa(g.mtu),
		"-t", strconv.Itoa(g.port), "-u", "none", "-T", "none", "-U", "none", "-P", file,
		strconv.Itoa(g.guest))
	cmd.Stderr = &g.said
	if err := cmd.Start(); err != nil {
		return err
	}
	g.pid = cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if text, err := os.ReadFile(file); err == nil && bytes.HasSuffix(text, []byte("\n")) {
			return nil
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("it has ended"), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// measure runs the load of a cell.
func (g *peerGuest) measure(c peerCell, outside int, lasts time.Duration) (peerSample, error) {
	words := append(inGuest(g.guest), "load", "send", c.kind,
		net.JoinHostPort(outsideServer, strconv.Itoa(outsidePort)))
	if c.inward {
		words = append(inOutside(outside), "load", "send", c.kind,
			strings.Split(hostPrefix, "/")[0]+":"+strconv.Itoa(g.port))
	}
	patience := 20 * time.Second
	if g.program.hint == "" { // ours
		patience = testTimeout
	}
	words = append(words, strconv.Itoa(c.flows), lasts.String(), patience.String())
	before, err := processorTime(g.pid)
	if err != nil {
		return peerSample{}, err
	}
	l, err := runLoad(words)
	if err != nil {
		return peerSample{}, err
	}
	after, err := processorTime(g.pid)
	if err != nil {
		return peerSample{}, err
	}
	s := peerSample{Cell: c.String(), Peer: g.program.name}
	used := (after - before).Seconds()
	switch {
	case l.Events > 0:
		s.Rate, s.CPU = float64(l.Median)/1e3, used*1e6/float64(l.Events)
	case l.Bytes > 0:
		s.Rate, s.CPU = float64(l.Bytes)*8/float64(l.Took), used*1e9/float64(l.Bytes)
	default:
		return s, errors.New("nothing has arrived")
	}
	return s, nil
}

// runLoad runs a program that sends, and returns what it has reached.
func runLoad(words []string) (l loaded, err error) {
	var said bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	return l, json.Unmarshal(out, &l)
}

// stall opens connections that nobody reads, and returns what the program needs at most meanwhile.
func (g *peerGuest) stall(connections int, lasts time.Duration) (float64, error) {
	refs := fmt.Sprintf("/proc/%d/clear_refs", g.pid)
	if err := os.WriteFile(refs, []byte("5"), 0); err != nil { // VmHWM begins anew
		return 0, err
	}
	words := append(inGuest(g.guest), "load", "send", "stall",
		net.JoinHostPort(outsideServer, strconv.Itoa(outsidePort)), strconv.Itoa(connections),
		lasts.String(), "0s")
	l, err := runLoad(words)
	switch {
	case err != nil:
		return 0, err
	case l.Events == 0:
		return 0, errors.New("there was none")
	}
	return memoryOf(g.pid, "VmHWM"), nil
}

// clockTick is the unit of times in /proc (sysconf(_SC_CLK_TCK)), on all machines of Linux.
const clockTick = 10 * time.Millisecond

// processorTime returns the time of a process, in user and in system mode (proc_pid_stat(5)).
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the state on
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick, errors.Join(err, err2)
}

// memoryOf returns a line of /proc/PID/status in MiB, or 0 if there is none.
func memoryOf(pid int, line string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), line+":")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseFloat(kilobytes, 64)
	if err != nil {
		return 0
	}
	return n / 1024
}
