package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"interleave/gonet/relay"
	"interleave/gonet/wireguard/quick"
)

// readConfig reads CONF, and prints what is ignored in it.
func readConfig(file string, stdin io.Reader, log *console) (*quick.Config, error) {
	name, r := file, stdin
	if file == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(file, `/\.`) {
			return nil, fmt.Errorf("%w: give the path of the file, such as /etc/wireguard/%s.conf",
				err, file)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		warnReadable(f, log)
		r = f
	}
	config, err := quick.Parse(name, r)
	if err != nil {
		return nil, err
	}
	for _, note := range config.Notes {
		log.printf("%s", note)
	}
	return config, nil
}

// warnReadable warns of a file with secrets that others can read, as wg-quick does: both the file
// and its folder let them.
func warnReadable(f *os.File, log *console) {
	const others = 0o007
	if runtime.GOOS == "windows" {
		return // the bits say nothing there
	}
	file, err := f.Stat()
	if err != nil || !file.Mode().IsRegular() {
		return // a pipe, such as of <(pass show vpn)
	}
	folder, err := os.Stat(filepath.Dir(f.Name()))
	if err == nil && file.Mode().Perm()&folder.Mode().Perm()&others != 0 {
		log.printf("%s can be read by every user of this machine: chmod 600 keeps its key secret",
			f.Name())
	}
}

// readLogin reads the file of --auth: USER:PASSWORD in its first line.
func readLogin(file string, log *console) (relay.Login, error) {
	if file == "" {
		return relay.Login{}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return relay.Login{}, err
	}
	defer f.Close()
	warnReadable(f, log)
	line, err := bufio.NewReader(io.LimitReader(f, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return relay.Login{}, err
	}
	user, password, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
	const longest = 255 // bytes, of SOCKS5 (RFC 1929)
	if user == "" || password == "" || len(user) > longest || len(password) > longest {
		return relay.Login{}, fmt.Errorf("%s: expected USER:PASSWORD in the first line, each of 1 "+
			"to %d bytes", file, longest)
	}
	return relay.Login{User: user, Password: password}, nil
}

// describe prints what a file says, without its secrets. key is this host's public key.
func describe(w io.Writer, c *quick.Config) {
	fmt.Fprintf(w, "%-9s %v\n", "key", c.PrivateKey.Public())
	for _, a := range c.Addresses {
		fmt.Fprintf(w, "%-9s %v\n", "address", a)
	}
	for _, a := range c.DNS {
		fmt.Fprintf(w, "%-9s %v\n", "dns", a)
	}
	for _, domain := range c.Search {
		fmt.Fprintf(w, "%-9s %s\n", "search", domain)
	}
	fmt.Fprintf(w, "%-9s %d\n", "mtu", c.MTU)
	for _, p := range c.Peers {
		at := "without an endpoint"
		if p.Endpoint.Host != "" {
			at = "at " + p.Endpoint.String()
		}
		var networks []string
		for _, n := range p.AllowedIPs {
			networks = append(networks, n.String())
		}
		fmt.Fprintf(w, "%-9s %v %s for %s\n", "peer", p.PublicKey, at,
			cmp.Or(strings.Join(networks, ", "), "nothing"))
	}
}
