package torture

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"interleave/papaya/account"
	"interleave/papaya/control"
	"interleave/papaya/handshake"
	"interleave/papaya/log"
)

// RushOptions say what Rush does.
type RushOptions struct {
	Program  string
	Sessions int           // in all
	Accounts int           // that have them
	Scram    bool          // logins by SCRAM-SHA-256 instead of PLAIN
	Tokens   bool          // logins by a token of the account, when it has one
	Everyone bool          // there is also a room of all accounts
	For      time.Duration // how long they talk before the server is killed
	Within   time.Duration // in which the server must serve again then; 0: it is only told
	Folder   string        // an empty folder, for the data of the server
	Port     int           // of 127.0.0.1, on which nothing listens
	Tell     func(string)  // is called with a line about the result, by one goroutine
}

// roomOf is how many accounts are in a room together. A guess.
const roomOf = 50

// everyone is the room of all accounts.
const everyone = "#all"

// rushSettings are those of the server. The limits that have an effect are the defaults, except
// that all clients come from this machine, and may be as many as are asked for.
const rushSettings = `[server]
data = "data"
[listen]
plain = []
tls = ["127.0.0.1:%d"]
[tls]
domains = ["127.0.0.1"]
[accounts]
scram = %v
[limits]
connections = %d
connect_burst = 0
lines_burst = 0
[push]
enabled = false
`

// A rush is one run of Rush: all sessions log in at once, talk, lose their server, and log in at
// once again.
type rush struct {
	RushOptions
	server   *process
	admin    *control.Client
	people   []*person
	devices  []*device
	onlooker *device // it only sends PINGs
	giveUp   func(error)
	// turns bound the handshakes of this program. Thousands at the same time would make its own
	// clients late, and the server would seem to be.
	turns *handshake.Turns
	// furnishing says that the accounts join their rooms, and furnished that all have.
	furnishing, furnished atomic.Bool

	asked    atomic.Int64  // JOINs, and questions for tokens, that are not answered yet
	answered chan struct{} // closed when all are

	mu    sync.Mutex
	storm *storm
	words int
	acked map[string]string // acknowledged texts, with their rooms
	waits []time.Duration   // for acknowledgements
	pings []time.Duration   // of the onlooker
	lates []time.Duration   // of this program: see watchItself
}

// A person is an account with what its sessions share.
type person struct {
	name     string
	password account.Secret
	scram    account.ScramClient
	rooms    []string
	from     net.Addr // the address of its devices; nil: any

	mu    sync.Mutex
	token account.Secret // in the place of the password; empty: it has none
}

// secret is that by which a device logs in.
func (p *person) secret() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.token, p.password).Reveal()
}

// Rush has all sessions log in to a new server at once and talk, kills the server, and has them log
// in again. It tells what that took. The error says what went wrong: a session that could not log
// in, a message that was acknowledged and is lost or there twice, connections or goroutines that
// are left at the end.
func Rush(ctx context.Context, o RushOptions) (err error) {
	if err := log.Space(o.Folder, 0, space); err != nil {
		return fmt.Errorf("it needs %d MiB: %w", space>>20, err)
	}
	if err := enoughFiles(o.Sessions); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &rush{RushOptions: o, giveUp: cancel, answered: make(chan struct{}),
		turns: handshake.NewTurns(runtime.GOMAXPROCS(0), 0, nil), acked: map[string]string{}}
	defer func() {
		if why := context.Cause(ctx); why != nil && !errors.Is(why, context.Canceled) {
			err = why
		}
		if r.server != nil {
			_ = r.server.end(syscall.SIGKILL) // if it still runs
		}
	}()
	if err := r.open(ctx); err != nil {
		return err
	}
	base, err := r.figures(ctx)
	if err != nil {
		return err
	}
	if err := r.rush(ctx); err != nil {
		return err
	}
	if err := r.leavesNothing(ctx, base); err != nil {
		return err
	}
	if err := r.server.end(syscall.SIGTERM); err != nil {
		return err
	}
	return r.checkText()
}

// reserve is how many open files this process and the server need beside the connections. A guess.
const reserve = 200

// enoughFiles says whether this process and the server may have as many connections.
func enoughFiles(sessions int) error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("reading how many files may be open: %w", err)
	}
	most := uint64(files.Cur) //nolint:unconvert // it is signed on FreeBSD
	if most < uint64(sessions+reserve) {
		return fmt.Errorf("%d sessions need %d open files, and this machine allows %d: "+
			"raise it (ulimit -n), or have fewer sessions", sessions, sessions+reserve, most)
	}
	return nil
}

// open starts the server and makes the accounts.
func (r *rush) open(ctx context.Context) error {
	text := fmt.Sprintf(rushSettings, r.Port, r.Scram, r.Sessions+reserve)
	if err := os.WriteFile(filepath.Join(r.Folder, "papaya.toml"), []byte(text),
		0o600); err != nil {
		return err
	}
	r.server = &process{name: "papaya", program: r.Program, folder: r.Folder,
		args: []string{"serve", "--config", "papaya.toml"}, tell: func(_ *process, s state,
			err error) {
			if s == dead {
				r.giveUp(err)
			}
		}}
	if err := r.server.launch(); err != nil {
		return err
	}
	if err := r.server.isUp(ctx); err != nil {
		return err
	}
	var err error
	if r.admin, err = control.Dial(ctx, filepath.Join(r.Folder, "data")); err != nil {
		return err
	}
	r.makePeople()
	begun := time.Now()
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, p := range r.people {
		group.Go(func() error {
			return r.admin.Add(inner, p.name, account.Member, p.password)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("making the accounts: %w", err)
	}
	r.Tell(fmt.Sprintf("%d accounts were made in %v", len(r.people), round(time.Since(begun))))
	return nil
}

// makePeople makes the accounts and their sessions, and the onlooker.
func (r *rush) makePeople() {
	add := func(name string) *person {
		p := &person{name: name, password: account.NewSecret(rand.Text())}
		p.scram.Password = p.password
		if n := len(r.people); runtime.GOOS == "linux" { // others have no 127.0.0.2
			p.from = &net.TCPAddr{IP: net.IPv4(127, byte(1+n>>16), byte(n>>8), byte(n))}
		}
		r.people = append(r.people, p)
		return p
	}
	for n := range r.Accounts {
		p := add(fmt.Sprint("u", n))
		p.rooms = append(p.rooms, fmt.Sprint("#r", n/roomOf))
		if r.Everyone {
			p.rooms = append(p.rooms, everyone)
		}
	}
	for n := range r.Sessions {
		r.devices = append(r.devices, newDevice(r, r.people[n%r.Accounts], n/r.Accounts))
	}
	r.onlooker = newDevice(r, add("onlooker"), 0)
}

// rush does what Rush says, from the first login to the end of the last session.
func (r *rush) rush(ctx context.Context) error {
	inner, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end() // before it
	run := func(d *device) {
		all.Go(func() {
			_ = d.conn.Run(inner) // until the end
		})
	}
	run(r.onlooker)
	if err := r.onlooker.up(ctx); err != nil {
		return err
	}
	all.Go(func() { r.ping(inner) })
	all.Go(func() { r.watchItself(inner) })
	first := r.begin(time.Now())
	for _, d := range r.devices {
		run(d)
	}
	if err := r.await(ctx, first); err != nil {
		return err
	}
	if err := r.tellStorm(ctx, "log in", first); err != nil {
		return err
	}
	if err := r.furnish(ctx); err != nil {
		return err
	}
	if !rest(ctx, min(r.For, settle)) {
		return ctx.Err()
	}
	if err := r.tellMemory(ctx); err != nil {
		return err
	}
	all.Go(func() { r.talk(inner) })
	if err := r.talkWithSlowReader(ctx); err != nil {
		return err
	}
	return r.restart(ctx)
}

// settle is how long the server has to return the memory that the logins needed: it does so after
// some quiet seconds.
const settle = 6 * time.Second

// furnish has one session of each account join its rooms, and ask for a token if it shall have one.
func (r *rush) furnish(ctx context.Context) error {
	begun := time.Now()
	for _, p := range r.people[:r.Accounts] {
		r.asked.Add(int64(len(p.rooms)))
		if r.Tokens {
			r.asked.Add(1)
		}
	}
	r.furnishing.Store(true)
	for _, d := range r.devices[:r.Accounts] {
		d.joinRooms()
	}
	if err := r.wait(ctx, r.answered, r.asked.Load); err != nil {
		return fmt.Errorf("joining the rooms: %w", err)
	}
	r.furnished.Store(true)
	r.Tell(fmt.Sprintf("all have joined their rooms in %v", round(time.Since(begun))))
	return nil
}

// hasAnswer notes an answer for which furnish waits.
func (r *rush) hasAnswer() {
	if r.asked.Add(-1) == 0 {
		close(r.answered)
	}
}

// wait waits until done is closed, for as long as something changes.
func (r *rush) wait(ctx context.Context, done <-chan struct{}, progress func() int64) error {
	for last := int64(-1); ; {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
		}
		now := progress()
		if now == last {
			return fmt.Errorf("%w: %s", errPatience, r.server.said.last())
		}
		last = now
	}
}

// restart kills the server while all talk, and starts it again.
func (r *rush) restart(ctx context.Context) error {
	at := time.Now()
	if err := r.server.end(syscall.SIGKILL); err != nil {
		return err
	}
	s := r.begin(at) // no session of the old server is counted
	if err := r.server.launch(); err != nil {
		return err
	}
	if err := r.server.isUp(ctx); err != nil {
		return err
	}
	ready := time.Since(at)
	if err := r.await(ctx, s); err != nil {
		return err
	}
	if err := r.tellStorm(ctx, "log in again after the kill", s); err != nil {
		return err
	}
	served := s.firstServed()
	first, last := s.span()
	r.Tell(fmt.Sprintf("after the kill the server accepts clients in %v, has the first session in "+
		"%v, has acknowledged a message in %v, and has all sessions in %v", round(ready),
		round(first), round(served), round(last)))
	if r.Within > 0 && (served == 0 || served > r.Within) {
		return fmt.Errorf("the server has served again after %v, not within %v", round(served),
			r.Within)
	}
	return nil
}

// round shortens a time for people.
func round(d time.Duration) time.Duration {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d < time.Second:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
