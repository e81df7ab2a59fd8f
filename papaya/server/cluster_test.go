package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"interleave/internal/freeport"
	"interleave/papaya/log"
)

// TestMain makes this program also the processes of TestCluster.
func TestMain(m *testing.M) {
	switch os.Getenv("PAPAYA_ROLE") {
	case "nats":
		runNATS(os.Args[1:])
	case "papaya":
		runPapaya(os.Args[1:])
	default:
		os.Exit(m.Run())
	}
}

// runNATS is a node of NATS: NAME FOLDER PORT ROUTES-PORT ALL-ROUTES.
func runNATS(args []string) {
	var port, routes int
	_, err := fmt.Sscan(args[2]+" "+args[3], &port, &routes)
	if err != nil {
		panic(err)
	}
	o := &natsserver.Options{
		ServerName: args[0], Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[1],
		SyncAlways: true, NoSigs: true,
		Cluster: natsserver.ClusterOpts{Name: "papaya", Host: "127.0.0.1", Port: routes},
		Routes:  natsserver.RoutesFromStr(args[4]),
	}
	electSoon()
	s, err := natsserver.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.Start()
	s.WaitForShutdown()
}

// startAgain is the exit status of a server that asks to be restarted, as a service manager would
// do. The log cannot be opened yet, or the other servers have declared this one lost, which a busy
// machine can cause (EX_TEMPFAIL of sysexits.h).
const startAgain = 75

// runPapaya is a server: NAME FOLDER ADDRESS NATS-URL.
func runPapaya(args []string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	text, err := log.OpenText(args[1])
	if err != nil {
		panic(err)
	}
	store, err := log.Open(ctx, log.Options{URL: args[3], Name: args[0]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(startAgain)
	}
	err = Run(ctx, Config{Plain: []string{args[2]}, Data: args[1], Text: text, Log: store,
		Shared: true, Unique: args[0],
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	again := errors.Is(err, errLost) || errors.Is(err, errAway)
	if err := errors.Join(err, store.Close(), text.Close()); err != nil && !again {
		panic(err)
	}
	if again {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(startAgain)
	}
}

// A process is killed and started by the test. If it ends by itself, the test fails, unless it asks
// for a restart.
type process struct {
	role string
	args []string

	mu      sync.Mutex
	cmd     *exec.Cmd
	wanted  bool          // it should run: the test has not stopped it
	ended   chan struct{} // closed when the process has ended and is not restarted
	trouble error         // why it has ended by itself
}

func (p *process) start(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted, p.ended = true, make(chan struct{})
	if err := p.launch(); err != nil {
		t.Fatal(err)
	}
}

// launch starts the program and waits for its end in another goroutine. The caller holds mu.
func (p *process) launch() error {
	cmd := exec.Command(os.Args[0], p.args...)
	cmd.Env = append(os.Environ(), "PAPAYA_ROLE="+p.role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := os.OpenFile(p.args[1]+".err", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Stderr = said
	started := make(chan error)
	// The goroutine keeps its thread: the process is killed when the thread that has started it
	// ends.
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.watch(cmd.Wait())
		}
	}()
	p.cmd = cmd
	return <-started
}

// watch notes the end of the process, or restarts it if it asks for that.
func (p *process) watch(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status, ok := errors.AsType[*exec.ExitError](err); p.wanted && ok &&
		status.ExitCode() == startAgain {
		if p.trouble = p.launch(); p.trouble == nil {
			return
		}
	} else if p.wanted {
		p.trouble = fmt.Errorf("%s has ended by itself: %w", p.args[0], err)
	}
	close(p.ended)
}

// stop sends a signal, and returns a channel that is closed when the process has ended.
func (p *process) stop(signal syscall.Signal) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = false
	_ = p.cmd.Process.Signal(signal) // it may have ended already
	return p.ended
}

func (p *process) kill() { <-p.stop(syscall.SIGKILL) }

// term ends a server as an administrator does, so that it saves its state.
func (p *process) term(t *testing.T) {
	t.Helper()
	select {
	case <-p.stop(syscall.SIGTERM):
	case <-time.After(patience):
		t.Errorf("%s does not end", p.args[0])
		p.kill()
	}
}

// failed returns why the process has ended by itself, or nil.
func (p *process) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble
}

// A talker sends numbered messages as long as the test lasts, over any server that runs.
type talker struct {
	nick      string
	addresses []string // the first is preferred
	sent      int
	acked     []string     // messages whose echo has come
	progress  atomic.Int64 // how many; read by the test
	heard     []string     // all messages since it has connected
	trouble   error
}

// talk serves one connection, until it ends or ctx does.
func (k *talker) talk(ctx context.Context, address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	fmt.Fprintf(c, "CAP REQ echo-message\r\nNICK %s\r\nUSER t 0 * :t\r\nCAP END\r\nJOIN #tea\r\n",
		k.nick)
	k.heard = nil
	lines, last := bufio.NewScanner(c), ""
	next := func() {
		k.sent++
		last = fmt.Sprintf("%s-%d", k.nick, k.sent)
		fmt.Fprintf(c, "PRIVMSG #tea :%s\r\n", last)
	}
	for lines.Scan() {
		l := lines.Text()
		switch {
		case strings.HasPrefix(l, "PING "):
			fmt.Fprintf(c, "PONG %s\r\n", l[5:])
		case strings.Contains(l, " 433 "):
			// its old connection, until the others notice that the server is lost
			return errors.New(l)
		case strings.Contains(l, " 404 "):
			last = ""
			time.Sleep(50 * time.Millisecond)
			next()
		case strings.Contains(l, " 366 "):
			next()
		case strings.Contains(l, " PRIVMSG #tea :"):
			_, text, _ := strings.Cut(l, " PRIVMSG #tea :")
			k.heard = append(k.heard, text)
			if text == last {
				k.acked = append(k.acked, text)
				k.progress.Add(1)
				time.Sleep(15 * time.Millisecond) // a load, but no flood
				next()
			}
		}
	}
	return lines.Err()
}

func (k *talker) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		if err := k.talk(ctx, k.addresses[n%len(k.addresses)]); err != nil {
			k.trouble = err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A cluster is three nodes of NATS, three servers, and clients.
type cluster struct {
	t         *testing.T
	root      string
	addresses []string // of the servers
	nodes     []*process
	servers   []*process
	talkers   []*talker
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, root: t.TempDir()}
	var ports []string
	for range 9 {
		ports = append(ports, strconv.Itoa(freeport.For(t)))
	}
	var routes, urls []string
	for n := range 3 {
		routes = append(routes, "nats://127.0.0.1:"+ports[3+n])
		urls = append(urls, "nats://127.0.0.1:"+ports[n])
		c.addresses = append(c.addresses, "127.0.0.1:"+ports[6+n])
	}
	for n := range 3 {
		name := fmt.Sprintf("n%d", n)
		c.nodes = append(c.nodes,
			&process{role: "nats", args: []string{name, filepath.Join(c.root, name), ports[n],
				ports[3+n], strings.Join(routes, ",")}})
		name = fmt.Sprintf("p%d", n)
		c.servers = append(c.servers,
			&process{role: "papaya", args: []string{name, filepath.Join(c.root, name),
				c.addresses[n], strings.Join(urls, ",")}})
	}
	// Of two clients, one waits for its server and the other goes to the next. Each server so has a
	// client.
	for n := range 3 {
		c.talkers = append(c.talkers, &talker{nick: fmt.Sprintf("stays%d", n),
			addresses: c.addresses[n : n+1]},
			&talker{nick: fmt.Sprintf("goes%d", n), addresses: append(slices.Clone(c.addresses[n:]),
				c.addresses[:n]...)})
	}
	return c
}

// until waits for a condition. No process may end by itself meanwhile.
func (c *cluster) until(what string, done func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
		err := error(nil)
		for _, p := range append(slices.Clone(c.nodes), c.servers...) {
			err = errors.Join(err, p.failed())
		}
		if err == nil && time.Now().Before(end) {
			continue
		}
		for _, p := range c.servers {
			said, _ := os.ReadFile(p.args[1] + ".err")
			c.t.Logf("%s has said: %s", p.args[0], said[max(0, len(said)-4096):])
		}
		c.t.Fatalf("waiting until %s: %v", what, errors.Join(err, os.ErrDeadlineExceeded))
	}
}

// allTalk waits until each talker has n more acknowledged messages. All are then connected, and the
// log works.
func (c *cluster) allTalk(n int64) {
	c.t.Helper()
	for _, k := range c.talkers {
		before := k.progress.Load()
		c.until(k.nick+" is acknowledged", func() bool { return k.progress.Load() >= before+n })
	}
}

// someTalk waits until the talkers together have n more acknowledged messages.
func (c *cluster) someTalk(n int64) {
	c.t.Helper()
	all := func() (sum int64) {
		for _, k := range c.talkers {
			sum += k.progress.Load()
		}
		return sum
	}
	before := all()
	c.until("the rest talks on", func() bool { return all() >= before+n })
}

// TestCluster kills each of three servers and three nodes of NATS in turn, and restarts another
// server, while clients talk. Then it compares the logs.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: it takes half a minute")
	}
	c := newCluster(t)
	for _, p := range append(slices.Clone(c.nodes), c.servers...) {
		p.start(t)
		defer p.kill()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, k := range c.talkers {
		all.Go(func() { k.run(ctx) })
	}
	const some = 10
	for n := range 3 {
		for _, p := range []*process{c.nodes[n], c.servers[n]} {
			c.allTalk(some)
			p.kill()
			if p != c.nodes[0] { // this one is back before another can be elected
				// The others go on meanwhile, with another leader if necessary.
				c.someTalk(6 * some)
			}
			p.start(t)
		}
		c.reach(n)
		other := (n + 1) % 3
		c.servers[other].term(t)
		c.servers[other].start(t)
		c.reach(other)
	}
	c.allTalk(some)
	cancel()
	all.Wait()
	check(t, c.settled(), c.talkers)
}

// reach waits until a server accepts clients.
func (c *cluster) reach(n int) {
	c.t.Helper()
	c.until("a server answers at "+c.addresses[n], func() bool { return greeted(c.addresses[n]) })
}

func greeted(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(c, "PING x\r\n")
	_, err = bufio.NewReader(c).ReadString('\n')
	return err == nil
}

// settled waits until the three logs are equal, and returns their messages.
func (c *cluster) settled() (said []string) {
	c.t.Helper()
	var logs [3]string
	c.until("the logs are alike", func() bool {
		for n := range logs {
			text, err := os.ReadFile(filepath.Join(c.root, fmt.Sprintf("p%d", n), "log"))
			if err != nil {
				c.t.Fatal(err)
			}
			logs[n] = string(text)
		}
		return logs[0] != "" && logs[0] == logs[1] && logs[1] == logs[2]
	})
	for l := range strings.Lines(logs[0]) {
		_, text, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " PRIVMSG #tea :")
		said = append(said, text)
	}
	return said
}

// check compares the messages that were acknowledged and received with the log.
func check(t *testing.T, said []string, talkers []*talker) {
	t.Helper()
	at := map[string]int{}
	for n, text := range said {
		if before, twice := at[text]; twice {
			t.Errorf("%s is in the log at %d and at %d", text, before, n)
		}
		at[text] = n
	}
	acked := 0
	for _, k := range talkers {
		if len(k.acked) < 10 {
			t.Errorf("%s was acknowledged %d messages only; last trouble: %v", k.nick, len(k.acked),
				k.trouble)
		}
		for _, text := range k.acked {
			acked++
			if _, ok := at[text]; !ok {
				t.Errorf("%s was acknowledged and is not in the log", text)
			}
		}
		last := -1
		for _, text := range k.heard {
			n, ok := at[text]
			if !ok || n <= last {
				t.Errorf("%s heard %s at %d after %d", k.nick, text, n, last)
			}
			last = n
		}
	}
	t.Logf("%d messages in the log, %d of them acknowledged", len(said), acked)
}
