// Package torture runs a campaign against servers of Papaya: it starts them, has clients talk, and
// kills the servers again and again. It records what the clients have asked for and were shown.
// Package checker judges that.
package torture

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/checker"
	"interleave/papaya/control"
	"interleave/papaya/log"
)

// Options say what a campaign does.
type Options struct {
	Program string        // the program whose servers are killed
	Nodes   int           // 1, or 3: as many servers on one log, which as many nodes of NATS keep
	Kills   int           // how many; then it ends
	For     time.Duration // over which the kills are spread; slow machines need longer
	Seed    uint64        // decides what the clients do and what is killed when, but no timing
	Folder  string        // an empty folder, for the data of the servers
	History string        // a file for the history, which must not exist
	Ports   []int         // as many as Ports returns, of 127.0.0.1, on which nothing listens
	Tell    func(string)  // is called with a line about the progress, by one goroutine
}

// Ports returns how many ports a campaign needs.
func Ports(nodes int) int {
	if nodes == 1 {
		return 2
	}
	return 4 * nodes
}

// space is in bytes: what the disk must have for the data of a server and the history. A guess.
const space = 256 << 20

// rooms are those of a campaign, with their members. The first is the founder. The others than #all
// are closed (+i).
var rooms = []struct {
	name    string
	members []string
}{
	{"#all", []string{"ann", "bob", "cyd", "dan"}},
	{"#den", []string{"bob", "ann"}},
	{"#attic", []string{"cyd", "dan", "ann"}},
}

// people are the accounts, all of which talk with each other in private, too.
var people = []string{"ann", "bob", "cyd", "dan"}

// sessions is how many an account has on one server; of several servers, each has one.
const sessions = 2

// A user is an account with what it may do.
type user struct {
	*credentials
	conversations []string // in which it may talk
	closed        []string // rooms in which it may not
}

// A campaign is one run of Run.
type campaign struct {
	Options
	record   *recorder
	plan     *checker.Plan
	nodes    []*process
	servers  []*server
	sessions []*session
	browser  *http.Client
	pace     time.Duration // the mean pause of a session between two operations
	kills    int           // so far
	giveUp   func(error)   // ends the campaign, which cannot go on

	mu    sync.Mutex
	words int
	links []link
}

// Run runs a campaign until its kills are done or ctx has ended. The history is then complete, and
// its servers have ended. The error says why the campaign could not go on; what it has recorded
// until then may be judged.
func Run(ctx context.Context, o Options) (err error) {
	if err := log.Space(o.Folder, 0, space); err != nil {
		return notBegun(ctx, fmt.Errorf("it needs %d MiB: %w", space>>20, err))
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	c := &campaign{Options: o, browser: browser(), giveUp: cancel}
	c.pace = max(20*time.Millisecond, min(o.For/2000, 250*time.Millisecond))
	if c.record, err = newRecorder(o.History, cancel); err != nil {
		return notBegun(ctx, err)
	}
	defer func() {
		if failed := c.record.close(); !errors.Is(err, failed) { // it may be why the campaign ends
			err = errors.Join(err, failed)
		}
	}()
	c.makePlan()
	c.record.tell(checker.Event{Type: checker.Campaign, Plan: c.plan})
	defer func() { _ = c.stop(syscall.SIGKILL) }() // what still runs
	if err := c.start(ctx); err != nil {
		return notBegun(ctx, err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil) // before it
	for _, s := range c.sessions {
		all.Go(func() {
			_ = s.conn.Run(inner) // until the campaign ends
			s.lose()              // what still waits for an answer
		})
	}
	if err := c.furnish(ctx); err != nil {
		return notBegun(ctx, err)
	}
	c.Tell("clients talk")
	err = c.torture(ctx, inner)
	if err == nil {
		err = c.survey(inner)
	}
	if why := context.Cause(inner); why != nil {
		return why
	}
	if err != nil {
		return err
	}
	cancel(nil)
	all.Wait()
	if err := c.stop(syscall.SIGTERM); err != nil {
		return err
	}
	return c.readDisks()
}

// ErrNothing means that a campaign has ended before its first operation, so that there is nothing
// to judge.
var ErrNothing = errors.New("no operation was done")

// notBegun is the error of a campaign that has not begun.
func notBegun(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = errors.New("it was ended")
	}
	return fmt.Errorf("%w: %w", ErrNothing, err)
}

// makePlan makes the conversations and the accounts.
func (c *campaign) makePlan() {
	c.plan = &checker.Plan{Format: checker.Format, Seed: c.Seed,
		Conversations: map[string]checker.Conversation{}}
	for _, r := range rooms {
		c.plan.Conversations[r.name] = checker.Conversation{Members: r.members,
			Operators: r.members[:1]}
	}
	for i, a := range people {
		for _, b := range people[i+1:] {
			c.plan.Conversations[pair(a, b)] = checker.Conversation{Members: []string{a, b}}
		}
	}
}

// start starts the servers, and makes the accounts and their sessions.
func (c *campaign) start(ctx context.Context) error {
	if err := c.makeServers(); err != nil {
		return err
	}
	for _, p := range c.processes() {
		if err := p.launch(); err != nil {
			return err
		}
	}
	for _, p := range c.processes() {
		if err := p.isUp(ctx); err != nil {
			return err
		}
	}
	admin, err := control.Dial(ctx, c.servers[0].data)
	if err != nil {
		return err
	}
	for _, name := range people {
		u, err := c.makeUser(name)
		if err != nil {
			return err
		}
		if err := admin.Add(ctx, name, account.Member, account.NewSecret(u.password)); err != nil {
			return fmt.Errorf("making the account %s: %w", name, err)
		}
		if err := admin.AddCertificate(ctx, name, u.fingerprint); err != nil {
			return fmt.Errorf("giving the account %s a certificate: %w", name, err)
		}
	}
	return nil
}

// makeUser makes an account's credentials and its sessions.
func (c *campaign) makeUser(name string) (*user, error) {
	k, err := newCredentials(name, rand.Text())
	if err != nil {
		return nil, err
	}
	u := &user{credentials: k}
	for in, it := range c.plan.Conversations {
		switch {
		case slices.Contains(it.Members, name):
			u.conversations = append(u.conversations, in)
		case strings.HasPrefix(in, "#"):
			u.closed = append(u.closed, in)
		}
	}
	slices.Sort(u.conversations)
	slices.Sort(u.closed)
	for n := range max(sessions, len(c.servers)) {
		c.sessions = append(c.sessions, newSession(c, u, c.servers[n%len(c.servers)], n))
	}
	return u, nil
}

// dice returns the source of random numbers of a part of the campaign.
func (c *campaign) dice(part string) *mathrand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(part)) // it never fails
	return mathrand.New(mathrand.NewPCG(c.Seed, h.Sum64()))
}

// word returns the first word of the next message. No other message has it.
func (c *campaign) word() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words++
	return fmt.Sprintf("w-%d-", c.words)
}

func (c *campaign) keepLink(l link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, l)
}

func (c *campaign) allLinks() []link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.links)
}

// torture has all sessions work, and kills servers meanwhile. ctx ends both, and inner is that of
// what is under way.
func (c *campaign) torture(ctx, inner context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(inner, cancel)()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, s := range c.sessions {
		w := &worker{session: s, dice: c.dice(s.name)}
		all.Go(func() {
			if err := w.work(inner, c.pace, stop); err != nil {
				c.giveUp(err)
			}
		})
	}
	err := c.killAll(ctx)
	if err == nil {
		err = c.allUp(inner)
	}
	if err != nil {
		c.giveUp(err)
	}
	close(stop)
	all.Wait()
	return err
}

// allUp waits until all servers accept clients.
func (c *campaign) allUp(ctx context.Context) error {
	for _, p := range c.processes() {
		if err := p.isUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all processes: the servers first, since they need the nodes.
func (c *campaign) stop(s syscall.Signal) error {
	var all error
	for _, p := range slices.Backward(c.processes()) {
		if err := p.end(s); err != nil && s != syscall.SIGKILL {
			all = errors.Join(all, err)
		}
	}
	return all
}
