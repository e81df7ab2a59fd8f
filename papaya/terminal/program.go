package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"interleave/papaya/client"
)

// ErrRefused means that the server refuses the user.
var ErrRefused = errors.New("the server refused")

// quitWait bounds the time to send QUIT.
const quitWait = 2 * time.Second

// A Sender sends a file, and returns its link.
type Sender func(ctx context.Context, to client.FileHost, path string) (link string, err error)

// Run shows a session on a terminal until the user leaves, the context ends or the server refuses.
func Run(ctx context.Context, session *client.Session, dial client.Dialer, send Sender,
	in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := &program{model: NewModel(session, time.Local), ctx: ctx, send: send}
	screen := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithoutSignalHandler())
	p.conn = &client.Conn{Dial: dial, Tell: func(e any) { screen.Send(e) }}
	ended := make(chan error, 1)
	go func() {
		err := p.conn.Run(ctx)
		ended <- err
		screen.Quit()
	}()
	_, err := screen.Run()
	stop() // the connection sends the lines that still wait: QUIT
	select {
	case failed := <-ended:
		if !errors.Is(failed, context.Canceled) {
			return failed
		}
	case <-time.After(quitWait):
	}
	switch {
	case p.model.Failed != "":
		return fmt.Errorf("%w: %s", ErrRefused, clean(p.model.Failed))
	case errors.Is(err, tea.ErrProgramKilled), errors.Is(err, context.Canceled):
		return nil // the context has ended
	}
	return err
}

// tickWait is the time until the server is told what was read. A guess: other devices of the
// account should hear of it soon, but not of each message of a busy room.
const tickWait = 2 * time.Second

// program connects the model with bubbletea and the connection.
type program struct {
	model *Model
	conn  *client.Conn
	ctx   context.Context // of Run
	send  Sender
	ticks bool // a Tick will come
}

func (p *program) Init() tea.Cmd { return nil }

// Update passes an event to the model and its lines to the connection.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	e := event(msg)
	if _, tick := e.(Tick); tick {
		p.ticks = false
	}
	for _, line := range p.model.Take(e) {
		p.conn.Send(line)
	}
	if p.model.Steady {
		p.model.Steady = false
		p.conn.Steady()
	}
	if p.model.Drop {
		p.model.Drop = false
		p.conn.Drop()
	}
	if p.model.Quit {
		return p, tea.Quit
	}
	var next []tea.Cmd
	for _, u := range p.model.Uploads {
		next = append(next, func() tea.Msg {
			link, err := p.send(p.ctx, u.To, u.Path)
			return Uploaded{u, link, err}
		})
	}
	p.model.Uploads = nil
	if p.model.Waits && !p.ticks {
		p.ticks = true
		next = append(next, tea.Tick(tickWait, func(time.Time) tea.Msg { return Tick{} }))
	}
	return p, tea.Batch(next...)
}

// event converts a message of bubbletea to an event of the model.
func event(msg tea.Msg) any {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return Size{msg.Width, msg.Height}
	case tea.FocusMsg:
		return Focus(true)
	case tea.BlurMsg:
		return Focus(false)
	case tea.PasteMsg:
		return Text(msg.Content)
	case tea.KeyPressMsg:
		if msg.Text != "" {
			return Text(msg.Text)
		}
		return Key(msg.String())
	}
	return msg
}

// View draws the screen. bubbletea writes what has changed.
func (p *program) View() tea.View {
	text, x, y := p.model.View()
	v := tea.NewView(text)
	v.AltScreen, v.ReportFocus = true, true
	v.Cursor = tea.NewCursor(x, y)
	v.WindowTitle = "papaya: " + p.model.name(p.model.session.Active())
	return v
}
