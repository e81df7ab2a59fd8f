package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds a file in bytes; the example has about 6,000.
const maxFile = 256 << 10

// Load reads a file. Its error lists all mistakes, by line.
func Load(file string) (*Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err // the error names the file
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse parses the text of a file.
func Parse(file string, data []byte) (*Config, error) {
	r := reader{file: file, config: Default()}
	r.config.File = file
	values := map[string]any{}
	if len(data) > maxFile {
		r.fail(0, "has more than %d bytes", maxFile)
	} else if err := toml.Unmarshal(data, &values); err != nil {
		line := 0
		if de := (*toml.DecodeError)(nil); errors.As(err, &de) {
			line, _ = de.Position()
		}
		r.fail(line, "not TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	} else {
		r.lines = lines(data)
		r.tables(values)
		r.together()
	}
	if len(r.errs) > 0 {
		return nil, r.err()
	}
	return r.config, nil
}

// A reader parses one file. It collects all mistakes, so they can be corrected together.
type reader struct {
	file   string
	config *Config
	lines  map[string]int // the line of each table and key, by path
	errs   []*Error
}

func (r *reader) fail(line int, format string, args ...any) {
	r.errs = append(r.errs, &Error{r.file, line, fmt.Errorf(format, args...)})
}

func (r *reader) err() error {
	slices.SortStableFunc(r.errs, func(a, b *Error) int { return a.Line - b.Line })
	var errs []error
	for _, e := range r.errs {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// tables reads all settings, and reports unknown ones.
func (r *reader) tables(values map[string]any) {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			r.fail(r.lines[name], "unknown table [%s]: expected one of %s", name,
				strings.Join(names, ", "))
			continue
		}
		table, ok := values[name].(map[string]any)
		if !ok {
			r.fail(r.lines[name], "%s: expected a table [%s], got %s", name, name,
				literal(values[name]))
			continue
		}
		r.table(name, table)
	}
}

func (r *reader) table(name string, values map[string]any) {
	var known []string
	for _, s := range settings {
		if s.table != name {
			continue
		}
		known = append(known, s.key)
		if value, ok := values[s.key]; ok {
			if err := s.set(r.config, value); err != nil {
				r.fail(r.lines[s.path()], "%s: %w", s.path(), err)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, key) {
			r.fail(r.lines[name+"."+key], "unknown key %s in [%s]: expected one of %s", key, name,
				strings.Join(known, ", "))
		}
	}
}

// together checks settings that depend on others.
func (r *reader) together() {
	c := r.config
	if (c.Certificate == "") != (c.Key == "") {
		r.fail(r.lines["tls"], "tls.certificate and tls.key: expected both or none")
	}
	if c.ACME && c.Certificate != "" {
		r.fail(r.lines["tls.acme"], "tls.acme: expected this or tls.certificate, not both")
	}
	if c.ACME && !slices.ContainsFunc(c.Web,
		func(a string) bool { return strings.HasSuffix(a, ":443") }) {
		r.fail(r.lines["tls.acme"],
			"tls.acme: expected an address with port 443 in listen.web, where the authority looks")
	}
	if len(c.Plain)+len(c.TLS)+len(c.Web)+len(c.Proxied)+len(c.ProxiedWeb) == 0 {
		r.fail(r.lines["listen"],
			"listen: expected an address in plain, tls, web, proxied or proxied_web")
	}
	if len(c.Proxied)+len(c.ProxiedWeb) > 0 && len(c.Trusted) == 0 {
		r.fail(r.lines["listen.trusted"], "listen.trusted: expected the address of the proxy")
	}
	if c.Preview && len(c.PreviewPorts) == 0 {
		r.fail(r.lines["preview.ports"], "preview.ports: expected one at least")
	}
	r.strict()
	if len(c.Domains) == 0 {
		r.fail(r.lines["tls.domains"], "tls.domains: expected one at least")
	}
}

// strict checks that clients which must come over TLS can.
func (r *reader) strict() {
	c := r.config
	if !c.STS {
		return
	}
	line := r.lines["tls.sts"]
	switch {
	case c.STSPort == 0 && len(c.TLS) == 0:
		r.fail(line, "tls.sts: expected an address in listen.tls, or in tls.sts_port the port "+
			"of a proxy that ends TLS")
	case c.STSPort == 0 && c.TLSPort() == 0:
		r.fail(line, "tls.sts: expected tls.sts_port, since the first of listen.tls has no "+
			"port of its own")
	case c.STSPort == 0 && !c.ACME && c.Certificate == "":
		r.fail(line, "tls.sts: expected tls.acme, or tls.certificate and tls.key: clients "+
			"would refuse the server's own certificate. If a proxy ends TLS, set tls.sts_port")
	}
}

// lines finds the line of each table and key in a text that is valid TOML.
func lines(data []byte) map[string]int {
	at := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	head, offset, line := "", 0, 1
	note := func(path string, n *unstable.Node) string {
		for k := n.Key(); k.Next(); {
			if path != "" {
				path += "."
			}
			path += string(k.Node().Data)
			for to := int(k.Node().Raw.Offset); offset < to; offset++ {
				if data[offset] == '\n' {
					line++
				}
			}
			if _, ok := at[path]; !ok {
				at[path] = line
			}
		}
		return path
	}
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			head = note("", e)
		case unstable.KeyValue:
			note(head, e)
		}
	}
	return at
}
