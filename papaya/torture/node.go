package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// A Node is a node of NATS with JetStream: one of three that keep the log of a campaign.
type Node struct {
	Name, Folder string
	Port, Route  int    // of 127.0.0.1: for servers of Papaya, and for other nodes
	Routes       string // the URLs of all nodes for each other, with commas
}

// nodeStart bounds the start of a node, which reads its files first. A net.
const nodeStart = 5 * time.Minute

// Run serves until ctx ends. It prints "ready" once servers are accepted.
func (n Node) Run(ctx context.Context, stderr io.Writer) error {
	s, err := natsserver.NewServer(&natsserver.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, JetStream: true, StoreDir: n.Folder,
		SyncAlways: true, NoSigs: true, NoLog: true,
		Cluster: natsserver.ClusterOpts{Name: "papaya", Host: "127.0.0.1", Port: n.Route},
		Routes:  natsserver.RoutesFromStr(n.Routes),
	})
	if err != nil {
		return err
	}
	s.Start()
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	if !s.ReadyForConnections(nodeStart) {
		return errors.New("NATS does not start")
	}
	fmt.Fprintln(stderr, "ready")
	<-ctx.Done()
	return nil
}

// args are the words of the command that runs the node.
func (n Node) args() []string {
	return []string{"torture-node", n.Name, n.Folder, strconv.Itoa(n.Port),
		strconv.Itoa(n.Route), n.Routes}
}

// urls returns the URLs of nodes at ports.
func urls(ports []int) (all []string) {
	for _, p := range ports {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	return all
}
