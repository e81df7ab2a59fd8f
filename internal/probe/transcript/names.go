package transcript

import (
	"fmt"
	"slices"
)

// names has what a parser knows of the clients, from the lines before.
type names struct {
	reserved  []string        // words that are no names
	connected map[string]bool // false: the connection is over, and the name may be dialled again
	filled    map[string]bool // clients that have a line "NAME fill DATA"
}

func newNames(subjects []string) *names {
	return &names{reserved: append(slices.Clone(settings), subjects...),
		connected: map[string]bool{}, filled: map[string]bool{}}
}

// known reports whether a name was dialled before.
func (n *names) known(name string) bool {
	_, dialled := n.connected[name]
	return dialled
}

// isName reports whether a client may be called so.
func (n *names) isName(name string) bool {
	for i, r := range name {
		if (r < 'a' || r > 'z') && (i == 0 || (r < '0' || r > '9') && r != '-') {
			return false
		}
	}
	return name != "" && !slices.Contains(n.reserved, name)
}

// Dial notes that the line connects a client of this name, which must be free.
func (l *Line) Dial(name string) error {
	if !l.names.isName(name) {
		return fmt.Errorf("expected a name of small letters, digits and hyphens, got %q", name)
	}
	if l.names.connected[name] {
		return fmt.Errorf("expected a new name: %s was dialled before", name)
	}
	l.names.connected[name] = true
	return nil
}

// EndsClient notes that after the line its client's connection is over: another may be dialled
// under the same name.
func (l *Line) EndsClient() { l.names.connected[l.Who] = false }

// EndsServer notes that after the line the server has ended, and all connections with it.
func (l *Line) EndsServer() {
	for name := range l.names.connected {
		l.names.connected[name] = false
	}
}

// LosesPower is EndsServer for a line in which the server's folder loses its power.
func (l *Line) LosesPower() {
	l.EndsServer()
	l.losesPower = true
}

// Fills notes that the line's client sends until the server stops reading.
func (l *Line) Fills() { l.names.filled[l.Who] = true }

// HasFilled returns an error unless a line before this one has noted Fills of the client.
func (l *Line) HasFilled(who string) error {
	if !l.names.filled[who] {
		return fmt.Errorf("expected a line \"%s fill DATA\" before this one", who)
	}
	return nil
}
