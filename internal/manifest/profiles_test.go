package manifest

import (
	"slices"
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	tree := &Tree{Services: []*Service{{Name: "stream", Protocol: Stream}}}
	e, err := parseExperiment("experiments/streams/experiment.toml",
		[]byte("profiles = [\"connections = 1000\"]\n"+streaming), tree)
	if err != nil || !slices.Equal(e.Profiles, []string{"connections = 1000"}) {
		t.Errorf("got %v, %v", e, err)
	}
	_, err = parseExperiment("experiments/streams/experiment.toml",
		[]byte("profiles = [\"unnamed\"]\n"+streaming), tree)
	if err == nil || !strings.Contains(err.Error(),
		`1: profiles: "unnamed" is no point of this experiment`) {
		t.Errorf("a point that is not there: got %v", err)
	}
}
