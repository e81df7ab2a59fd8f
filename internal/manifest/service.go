package manifest

import (
	"path/filepath"
	"regexp"
)

// folderName is what a service, a model or an experiment may be called: it stands in URLs, in
// records and on command lines.
var folderName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// LoadService reads one service.toml, without the models beside it. The file is named relative to
// root.
func LoadService(root, file string) (*Service, error) {
	data, err := read(root, file)
	if err != nil {
		return nil, err
	}
	s, err := parseService(file, data)
	if err != nil {
		return nil, err
	}
	s.Dir = filepath.Join(root, filepath.Dir(file))
	return s, nil
}

func parseService(file string, data []byte) (*Service, error) {
	d, t := parse(file, data)
	if t == nil {
		return nil, d.err()
	}
	s := &Service{
		Name:     filepath.Base(filepath.Dir(file)),
		Title:    t.need("title", `the service's name in a heading, such as "Echo"`),
		Summary:  t.need("summary", "one sentence that says what the service does"),
		Protocol: t.needWord("protocol", protocolWords()),
		Hosts:    Hosts(t.word("hosts", hosts)),
	}
	if s.Hosts == "" {
		s.Hosts = Local
	}
	switch {
	case s.Hosts != Tap && (s.Protocol == Ping || s.Protocol == Transfer):
		t.d.fail(t.at("hosts"), "hosts: a server of %s is a host of its own: expected \"tap\"",
			s.Protocol)
	case s.Hosts == Tap && s.Protocol == Program:
		t.fail("hosts", "a program is no server: leave it out")
	}
	if !folderName.MatchString(s.Name) {
		d.fail(0,
			"the folder %q is no name for a service: expected lower-case letters and digits, "+
				"such as \"echo\"", s.Name)
	}
	t.finish()
	if err := d.err(); err != nil {
		return nil, err
	}
	return s, nil
}
