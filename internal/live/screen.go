package live

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/run"
	"interleave/internal/verdict"
)

// framesPerSecond bounds how often the terminal is painted, and how often the painter wakes up.
const framesPerSecond = 5

// maxHeld bounds the events that wait while a window is open. A window has only its own two.
const maxHeld = 256

// screen repaints a few lines at the bottom of the terminal; notes scroll by above them.
type screen struct {
	program *tea.Program
	done    chan struct{}
	closing sync.Once

	mu   sync.Mutex
	gate gate
}

// A gate holds events back while a measuring window is open, so that nothing is painted then.
type gate struct {
	window bool
	held   []run.Event
	pass   func(run.Event)
}

// take passes an event on, or keeps it until the window closes. A window has no events but its own
// two; should more come than maxHeld, they pass rather than get lost.
func (g *gate) take(e run.Event) {
	switch e.Kind {
	case run.WindowOpens:
		g.window = true
		return
	case run.WindowCloses:
		g.window = false
	}
	if g.window && len(g.held) < maxHeld {
		g.held = append(g.held, e)
		return
	}
	for _, h := range g.held {
		g.pass(h)
	}
	g.held = g.held[:0]
	g.pass(e)
}

func newScreen(f *os.File, stop func()) *screen {
	s := &screen{done: make(chan struct{})}
	s.gate.pass = s.send
	s.program = tea.NewProgram(&model{stop: stop, faults: map[string]int{}}, tea.WithOutput(f),
		tea.WithInput(os.Stdin), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	go func() {
		defer close(s.done)
		if _, err := s.program.Run(); err != nil {
			fmt.Fprintln(f, "the live view ended:", err) // the run goes on
		}
	}()
	return s
}

// Watch passes an event on to the painter, after the window if one is open.
func (s *screen) Watch(e run.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.take(e)
}

// send hands an event to the program; one that has ended no longer listens.
func (s *screen) send(e run.Event) {
	select {
	case <-s.done:
	default:
		s.program.Send(e)
	}
}

// Close ends the painting and leaves the last lines on the screen.
func (s *screen) Close() {
	s.closing.Do(func() {
		s.program.Quit()
		<-s.done
	})
}

// model is what is on the screen. The program's goroutine owns it.
type model struct {
	stop     func()
	width    int
	stopping bool
	event    run.Event      // the last one that tells where the run is
	last     string         // the last cell's line
	faults   map[string]int // gate -> cells that it voided
	failed   int
	verdicts []verdict.Verdict
	news     news
}

func (m *model) Init() tea.Cmd { return nil }

// Update takes one event of the run or the terminal.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case tea.KeyPressMsg:
		if k := msg.String(); k == "ctrl+c" || k == "q" {
			m.stopping = true
			m.stop()
		}
	case run.Event:
		return m, m.take(msg)
	}
	return m, nil
}

// take notes an event, and returns the command that prints what should stay.
func (m *model) take(e run.Event) tea.Cmd {
	switch e.Kind {
	case run.Note:
		return tea.Println(e.Text)
	case run.CellStarts:
		m.event = e
	case run.CellEnds:
		m.event = e
		return m.count(e.Cell)
	case run.Begins, run.RoundEnds, run.Ends:
		return m.change(e.Verdicts)
	}
	return nil
}

// count notes a cell. One that is void is only counted, for a busy machine voids many; what
// broke is printed.
func (m *model) count(c *record.Cell) tea.Cmd {
	if c.Status == record.Measured {
		m.last = result(c)
		return nil
	}
	m.failed++
	if c.Status == record.Broken {
		return tea.Println(style(warm).Render(fault(c)))
	}
	for _, r := range c.Reasons {
		m.faults[r.Gate]++
	}
	return nil
}

// gates lists those that voided cells, the most frequent first.
func (m *model) gates() string {
	names := slices.SortedFunc(maps.Keys(m.faults), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.faults[b], m.faults[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%s %d", n, m.faults[n]))
	}
	return strings.Join(out, ", ")
}

// change takes the verdicts as they stand, and prints those that are new: claims fall into place
// above the lines that are repainted.
func (m *model) change(now []verdict.Verdict) tea.Cmd {
	m.verdicts = now
	var print []tea.Cmd
	for _, v := range m.news.of(now) {
		print = append(print, tea.Println(m.cut(answer(&v))))
	}
	return tea.Sequence(print...)
}

// cut keeps a line from wrapping.
func (m *model) cut(line string) string {
	return lipgloss.NewStyle().MaxWidth(max(m.width, 40)).Render(line)
}

// colours from the 16 of every terminal, so that the user's theme decides on their look.
const (
	faint = "8"
	warm  = "3"
	cool  = "6"
)

func style(colour string) lipgloss.Style {
	return lipgloss.NewStyle().Foreground(lipgloss.Color(colour))
}

// View draws the lines.
func (m *model) View() tea.View {
	if m.event.Spec == nil {
		return tea.NewView("")
	}
	width := min(max(m.width, 40), 110)
	e := m.event
	head := fmt.Sprintf("%s · %s · %s, %s cores", e.Spec.Experiment.Name, e.Spec.Point.Name,
		e.Spec.Model.Name, e.Spec.Condition)
	state := fmt.Sprintf("%d of %d cells", e.Done, e.Total)
	done, total := e.Done, e.Total
	if e.Turn != nil {
		state = standing(m.verdicts)
		done, total = int(e.Spent/time.Second), int((e.Spent+e.Left)/time.Second)
		if len(e.Turn.Claims) > 0 {
			head += " · for " + strings.Join(e.Turn.Claims, " ")
		}
	} else {
		head += fmt.Sprintf(" · round %d of %d", e.Round, e.Rounds)
	}
	if m.failed > 0 {
		state += fmt.Sprintf(", %s void or failed", quantity.Many(m.failed, "cell"))
	}
	state += ", " + spell(e.Left) + " left"
	if m.stopping {
		state = "stopping the current cell; finished cells are recorded"
	}
	rows := []string{head, bar(done, total, max(10, width-lipgloss.Width(state)-2)) + "  " +
		state}
	if m.last != "" {
		rows = append(rows, style(faint).Render("last   "+m.last))
	}
	if len(m.faults) > 0 {
		rows = append(rows, style(warm).Render("void   "+m.gates()))
	}
	if len(m.verdicts) > 0 {
		rows = append(rows, style(cool).Render("claims "+tally(m.verdicts)))
	}
	for i, r := range rows {
		rows[i] = m.cut(r)
	}
	return tea.NewView(strings.Join(rows, "\n") + "\n")
}

// bar is a line of so many cells, done ones full.
func bar(done, total, width int) string {
	full := 0
	if total > 0 {
		full = min(width, done*width/total)
	}
	return style(cool).Render(strings.Repeat("━", full)) + style(faint).Render(strings.Repeat("─",
		width-full))
}
