package group

import "sync"

// Several is a set of groups that is looked at as one, such as those of the servers of a chain.
type Several struct {
	groups []*Group
	mu     sync.Mutex // guards one
	one    Usage
}

// Together makes a Several of at least one group.
func Together(groups ...*Group) *Several { return &Several{groups: groups} }

// Source says where the figures come from.
func (s *Several) Source() string { return s.groups[0].Source() }

// Look fills u with the sum over all groups, reusing its slice of processes. Pressure is the sum
// over the groups: if two wait for a core at the same time, it counts twice.
func (s *Several) Look(u *Usage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*u = Usage{PIDs: u.PIDs[:0]}
	for _, g := range s.groups {
		if err := g.Look(&s.one); err != nil {
			return err
		}
		u.User += s.one.User
		u.System += s.one.System
		u.Pressure += s.one.Pressure
		u.PIDs = append(u.PIDs, s.one.PIDs...)
	}
	return nil
}
