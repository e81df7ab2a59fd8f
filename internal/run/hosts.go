package run

import (
	"interleave/internal/manifest"
	"interleave/internal/netns"
)

// able tells why hosts cannot be made here. Tests replace it.
var able = netns.Able

// skipPoints leaves out the points whose hosts this machine cannot make, and says so once for each.
func (s *Session) skipPoints() {
	why := map[manifest.Hosts]error{"": nil} // by what points ask for; "" is the run's choice
	for _, e := range s.Experiments {
		for _, p := range e.Points {
			if _, tried := why[p.Hosts]; !tried {
				why[p.Hosts] = able(p.Hosts)
			}
			if err := why[p.Hosts]; err != nil {
				s.say("SKIP %s, point %q: %v", e.Name, p.Name, err)
			}
		}
	}
	s.Choice.SkipPoint = func(p manifest.Point) bool { return why[p.Hosts] != nil }
}
