package play

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"interleave/internal/probe/transcript"
)

// connectVerbs connect clients, and ask whether the server's host is there.
var connectVerbs = Vocabulary{
	{Word: "dial", Verbs: Verbs{"": shared(Once(dialUsage, readDial, dials))}},
	{Word: "ping", Verbs: Verbs{"": shared(Once("ping SIZE [times COUNT]", readPing,
		pings))}},
	{Word: "visit", Verbs: Verbs{"": Once("visit COUNT", readVisits, visits)}},
}

const dialUsage = "dial NAME, or dial NAME*COUNT for a group, port+1 for the port after the " +
	"server's, buffer SIZE for a small window"

// dial are the words of: dial a; dial c*1000; dial a port+1; dial a buffer 4KiB.
type dial struct {
	name  string
	count int
	group bool
	after int // 1: the port after the server's

	buffer int64 // for what the client has not read yet, in bytes; 0: the kernel's
}

func readDial(l *Line) (dial, error) {
	d := dial{count: 1}
	text, err := l.Word("a name")
	if err != nil {
		return d, err
	}
	name, count, group := strings.Cut(text, "*")
	if group {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > transcript.MaxClients {
			return d, fmt.Errorf("expected between 1 and %d clients, got %s",
				transcript.MaxClients, count)
		}
		d.count, d.group = n, true
	}
	if err := l.Dial(name); err != nil {
		return d, err
	}
	d.name = name
	if l.Take("port+1") {
		d.after = 1
	}
	if l.Take("buffer") {
		d.buffer, err = l.Bytes()
	}
	return d, err
}

// dialAtOnce bounds the connections that are being made at a time. The backlog of a server is at
// least twice this.
const dialAtOnce = 256

// dials connects the clients of a name. The name's former clients are closed.
func dials(ctx context.Context, p *Play, _ string, d dial) error {
	group := make([]*Client, d.count)
	free := make(chan struct{}, dialAtOnce)
	for _, old := range p.clients[d.name] {
		_ = old.Conn.Close() // its name is another connection's now
	}
	delete(p.clients, d.name)
	err := p.together(ctx, nil, d.count, func(i int) error {
		free <- struct{}{}
		defer func() { <-free }()
		name := d.name
		if d.group {
			name = fmt.Sprintf("%s[%d]", d.name, i)
		}
		conn, err := p.Server.DialBuffered(ctx, p.Server.Port+d.after, p.Deadline, d.buffer)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group[i] = &Client{Name: name, Index: i, Conn: conn}
		p.dialled(group[i])
		return conn.SetDeadline(p.Deadline)
	})
	for _, c := range group {
		if c != nil {
			p.clients[d.name] = append(p.clients[d.name], c)
			p.Address = c.Conn.LocalAddr().(*net.TCPAddr).IP.String()
		}
	}
	return err
}

// readVisits reads how many connections visit makes.
func readVisits(l *Line) (int64, error) { return l.Number("a number of connections", 1, 100_000) }

// visits connects and resets the connection at once, so many times.
func visits(ctx context.Context, p *Play, _ string, count int64) error {
	var mu sync.Mutex
	left := count
	return p.together(ctx, nil, int(min(count, dialAtOnce)), func(int) error {
		for {
			mu.Lock()
			left--
			done := left < 0
			mu.Unlock()
			if done {
				return nil
			}
			conn, err := p.Server.Dial(ctx, p.Server.Port, p.Deadline)
			if err != nil {
				return err
			}
			// A reset leaves no port behind in TIME-WAIT, of which there are 28,000.
			if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
				return err
			}
		}
	})
}
