package torture

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"interleave/papaya/checker"
)

// A server is a process with its addresses and its data.
type server struct {
	*process
	irc, web string // HOST:PORT, both with TLS
	data     string // the folder
}

// settings are those of a server. Clients have as much time as the campaign has patience, and no
// limits, since all of them come from this machine.
const settings = `[server]
data = %q
[listen]
plain = []
tls = [%q]
web = [%q]
[tls]
domains = ["127.0.0.1"]
[limits]
register = "5m"
answer = "5m"
connect_burst = 0
lines_burst = 0
[push]
enabled = false
`

// processes are the nodes and then the servers.
func (c *campaign) processes() (all []*process) {
	all = append(all, c.nodes...)
	for _, s := range c.servers {
		all = append(all, s.process)
	}
	return all
}

// makeServers writes the settings of the servers, and makes what is needed to start them.
func (c *campaign) makeServers() error {
	ports := c.Ports
	take := func(n int) []int {
		some := ports[:n]
		ports = ports[n:]
		return some
	}
	cluster := ""
	if c.Nodes > 1 {
		clients, routes := take(c.Nodes), take(c.Nodes)
		for i := range c.Nodes {
			n := Node{Name: fmt.Sprintf("n%d", i), Port: clients[i], Route: routes[i],
				Routes: strings.Join(urls(routes), ",")}
			n.Folder = filepath.Join(c.Folder, n.Name)
			c.nodes = append(c.nodes, c.process(n.Name, n.args()...))
		}
		cluster = fmt.Sprintf("[cluster]\nnats = [\"%s\"]\n",
			strings.Join(urls(clients), `", "`))
	}
	for i := range c.Nodes {
		name, at := fmt.Sprintf("p%d", i), take(2)
		s := &server{irc: fmt.Sprintf("127.0.0.1:%d", at[0]),
			web: fmt.Sprintf("127.0.0.1:%d", at[1]), data: filepath.Join(c.Folder, name)}
		text := fmt.Sprintf(settings, name, s.irc, s.web)
		if cluster != "" {
			text += cluster + fmt.Sprintf("member = %q\n", name)
		}
		file := name + ".toml"
		if err := os.WriteFile(filepath.Join(c.Folder, file), []byte(text), 0o600); err != nil {
			return err
		}
		s.process = c.process(name, "serve", "--config", file)
		s.cluster = cluster != ""
		c.servers = append(c.servers, s)
	}
	return nil
}

func (c *campaign) process(name string, args ...string) *process {
	return &process{name: name, program: c.Program, args: args, folder: c.Folder,
		tell: c.processTold}
}

// processTold records what has become of a process.
func (c *campaign) processTold(p *process, s state, err error) {
	e := checker.Event{Type: checker.Started, Server: p.name}
	switch s {
	case dead:
		e.Type, e.Why = checker.Died, err.Error()
		c.giveUp(err)
	case starting:
		e.Type, e.Why = checker.Again, err.Error()
	case idle, running, ending:
	}
	c.record.tell(e)
}

// credentials are those of an account: its sessions log in by certificate, and it sends files with
// its password.
type credentials struct {
	name, password string
	certificate    tls.Certificate
	fingerprint    string // SHA-256 in hex
}

// life is how long a certificate of a session is valid. Nobody checks that.
const life = 365 * 24 * time.Hour

func newCredentials(name, password string) (*credentials, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(life), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(der)
	return &credentials{name: name, password: password, fingerprint: hex.EncodeToString(sum[:]),
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}
