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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"interleave/papaya/log"
	"interleave/papaya/server/freeport"
)

// TestMain makes the test's program also the processes that TestCluster kills.
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

// runNATS is one node: NAME FOLDER PORT ROUTES-PORT ALL-ROUTES.
func runNATS(args []string) {
	var port, routes int
	_, err := fmt.Sscan(args[2]+" "+args[3], &port, &routes)
	if err != nil {
		panic(err)
	}
	o := &natsserver.Options{
		ServerName: args[0], Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[1], SyncAlways: true, NoSigs: true,
		Cluster: natsserver.ClusterOpts{Name: "papaya", Host: "127.0.0.1", Port: routes}, Routes: natsserver.RoutesFromStr(args[4]),
	}
	s, err := natsserver.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.Start()
	s.WaitForShutdown()
}

// runPapaya is one server: NAME FOLDER ADDRESS NATS-URL.
func runPapaya(args []string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	text, err := log.OpenText(args[1])
	if err != nil {
		panic(err)
	}
	store, err := log.Open(ctx, log.Options{URL: args[3], Name: args[0]})
	if err != nil {
		panic(err)
	}
	err = Run(ctx, Config{Plain: []string{args[2]}, Data: args[1], Text: text, Log: store, Shared: true, Unique: args[0],
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err := errors.Join(err, store.Close(), text.Close()); err != nil {
		panic(err)
	}
}

// A process is one that the test kills and starts again.
type process struct {
	role string
	args []string
	cmd  *exec.Cmd
}

func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(os.Args[0], p.args...)
	p.cmd.Env = append(os.Environ(), "PAPAYA_ROLE="+p.role)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := os.OpenFile(p.args[1]+".err", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	p.cmd.Stderr = said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// term ends a server as an administrator does: it saves the state that the others have, too.
func (p *process) term(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Errorf("%s does not end", p.args[0])
		p.kill()
	}
}

// freePorts finds ports that nobody has at the moment.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		port, err := freeport.Find()
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, strconv.Itoa(port))
	}
	return ports
}

// A talker says numbered messages, one after another, for as long as the test lasts, over whatever server is there.
type talker struct {
	nick      string
	addresses []string // its own first
	sent      int
	acked     []string // what was echoed
	heard     []string // all that it was shown, since it is connected
	trouble   error
}

// talk is one connection: it ends with it, or with ctx.
func (k *talker) talk(ctx context.Context, address string) error {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	fmt.Fprintf(c, "CAP REQ echo-message\r\nNICK %s\r\nUSER t 0 * :t\r\nCAP END\r\nJOIN #tea\r\n", k.nick)
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
			return errors.New(l) // one's own ghost, until its server is known to be lost
		case strings.Contains(l, " 404 "):
			last = ""
			time.Sleep(100 * time.Millisecond)
			next()
		case strings.Contains(l, " 366 "):
			next()
		case strings.Contains(l, " PRIVMSG #tea :"):
			_, text, _ := strings.Cut(l, " PRIVMSG #tea :")
			k.heard = append(k.heard, text)
			if text == last {
				k.acked = append(k.acked, text)
				time.Sleep(15 * time.Millisecond) // a load, but not a flood
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
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestCluster has three servers over three nodes of NATS, kills one of each in turn and restarts another server while all talk, and looks what is in the logs.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: it takes a minute")
	}
	root, ports := t.TempDir(), freePorts(t, 9)
	var routes, urls, addresses []string
	for n := range 3 {
		routes = append(routes, "nats://127.0.0.1:"+ports[3+n])
		urls = append(urls, "nats://127.0.0.1:"+ports[n])
		addresses = append(addresses, "127.0.0.1:"+ports[6+n])
	}
	var nodes, servers []*process
	for n := range 3 {
		name := fmt.Sprintf("n%d", n)
		nodes = append(nodes, &process{role: "nats", args: []string{name, filepath.Join(root, name), ports[n], ports[3+n], strings.Join(routes, ",")}})
		name = fmt.Sprintf("p%d", n)
		servers = append(servers, &process{role: "papaya", args: []string{name, filepath.Join(root, name), addresses[n], strings.Join(urls, ",")}})
	}
	for _, p := range append(slices.Clone(nodes), servers...) {
		p.start(t)
		defer p.kill()
	}
	for _, a := range addresses {
		reach(t, a, servers)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var talkers []*talker
	var all sync.WaitGroup
	for n := range 6 {
		k := &talker{nick: fmt.Sprintf("t%d", n), addresses: append(slices.Clone(addresses[n%3:]), addresses[:n%3]...)}
		talkers = append(talkers, k)
		all.Go(func() { k.run(ctx) })
	}
	for n := range 3 {
		for _, p := range []*process{nodes[n], servers[n]} {
			time.Sleep(time.Second) // some talk in between
			p.kill()
			time.Sleep(3 * time.Second) // and while it is away
			p.start(t)
		}
		reach(t, addresses[n], servers)
		other := (n + 1) % 3
		servers[other].term(t)
		servers[other].start(t)
		reach(t, addresses[other], servers)
	}
	time.Sleep(3 * time.Second)
	cancel()
	all.Wait()
	logs := settled(t, root)
	check(t, logs, talkers)
}

// reach waits until a server takes clients.
func reach(t *testing.T, address string, servers []*process) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if greeted(address) {
			return
		}
	}
	for _, p := range servers {
		said, _ := os.ReadFile(p.args[1] + ".err")
		t.Logf("%s: %s", p.args[0], said)
	}
	t.Fatalf("nobody answers at %s", address)
}

func greeted(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	fmt.Fprint(c, "PING x\r\n")
	_, err = bufio.NewReader(c).ReadString('\n')
	return err == nil
}

// settled returns the three logs once they are alike.
func settled(t *testing.T, root string) []string {
	t.Helper()
	var logs [3]string
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		for n := range logs {
			text, err := os.ReadFile(filepath.Join(root, fmt.Sprintf("p%d", n), "log"))
			if err != nil {
				t.Fatal(err)
			}
			logs[n] = string(text)
		}
		if logs[0] != "" && logs[0] == logs[1] && logs[1] == logs[2] {
			var said []string
			for l := range strings.Lines(logs[0]) {
				_, text, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " PRIVMSG #tea :")
				said = append(said, text)
			}
			return said
		}
	}
	t.Fatalf("the logs stay different: %d, %d and %d bytes", len(logs[0]), len(logs[1]), len(logs[2]))
	return nil
}

// check holds what was acknowledged and heard against the log.
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
			t.Errorf("%s was acknowledged %d messages only; last trouble: %v", k.nick, len(k.acked), k.trouble)
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
