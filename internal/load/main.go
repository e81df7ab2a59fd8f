package load

// The engine's process: a plan on the first line of standard input, the word "go" on the second,
// and one JSON line on standard output for each stage. A load of stints is asked for each by a
// line, and ended by the word "end". When standard input ends, the process that started the engine
// has gone, and the engine ends too.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// maxPlanBytes bounds the first line of standard input: a plan with a thousand sources
// fits many times.
const maxPlanBytes = 1 << 20

// Main is the hidden subcommand that Start runs. It returns the exit status.
func Main(stdin io.Reader, stdout io.Writer) int {
	out := &printer{to: json.NewEncoder(stdout)}
	r, err := serve(bufio.NewReader(stdin), out.print)
	switch {
	case err != nil:
		out.print(Event{At: Failed, Result: r, Error: err.Error()})
	default:
		out.print(Event{At: Done, Result: r})
	}
	if err != nil || out.err != nil {
		return 1
	}
	return 0
}

// A printer writes events as lines. Any thread may print.
type printer struct {
	mu  sync.Mutex
	to  *json.Encoder
	err error
}

func (p *printer) print(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.to.Encode(e); err != nil && p.err == nil {
		p.err = err
	}
}

func serve(stdin *bufio.Reader, emit func(Event)) (*Result, error) {
	p, err := readPlan(stdin)
	if err != nil {
		return nil, err
	}
	if err := pinThreads(p.CPUs); err != nil {
		return nil, err
	}
	e, err := newEngine(p, emit)
	if err != nil {
		return nil, err
	}
	defer e.close()
	if e.shared.apart { // there are more of them than cores
		runtime.GOMAXPROCS(e.shared.parts + 1)
	}
	start := make(chan struct{})
	go e.obey(stdin, start)
	r, err := e.run(start)
	if wrong := e.wrong.Load(); wrong != nil {
		return nil, *wrong
	}
	return r, err
}

func readPlan(stdin *bufio.Reader) (Plan, error) {
	var p Plan
	line, err := readLine(stdin)
	if err != nil {
		return p, fmt.Errorf("reading the load's plan: %w", err)
	}
	if err := json.Unmarshal(line, &p); err != nil {
		return p, fmt.Errorf("reading the load's plan: %w", err)
	}
	return p, p.Validate()
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxPlanBytes:
			return nil, errors.New("the line is too long")
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// obey waits for the word to begin, then for stints, and at last for the end of standard input,
// which stops the engine. A line that it does not understand stops the engine too. It closes start
// once and ends with the process.
func (e *engine) obey(stdin *bufio.Reader, start chan<- struct{}) {
	defer e.stop()
	line, err := readLine(stdin)
	if err != nil || string(line) != "go\n" {
		e.stop()
		close(start)
		return
	}
	close(start)
	for e.shared.roll != nil {
		line, err := readLine(stdin)
		if err != nil {
			return
		}
		if string(line) == endWord {
			e.finish()
			break
		}
		s, err := parseStint(line)
		if err == nil {
			err = e.stint(s)
		}
		if err != nil {
			e.wrong.Store(&err)
			return
		}
	}
	for err == nil {
		_, err = stdin.ReadByte()
	}
}

// pinThreads puts all threads of the process on the engine's cores, the runtime's own included:
// none of them may disturb the server's. It also gives the runtime no more threads than it needs.
func pinThreads(cpus []int) error {
	runtime.GOMAXPROCS(max(1, len(cpus)) + 1)
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing the engine's threads: %w", err)
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("pinning the engine to cpus %v: %w", cpus, err)
		}
	}
	return nil
}
