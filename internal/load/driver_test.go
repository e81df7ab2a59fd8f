package load

import (
	"testing"

	"interleave/internal/manifest"
)

// TestProtocolsOfManifests: a service can be loaded whatever protocol its service.toml names.
func TestProtocolsOfManifests(t *testing.T) {
	for _, p := range manifest.Protocols {
		if _, ok := protocols[p.Name]; ok != (p.Name != manifest.Program) {
			t.Errorf("the engine has a driver for %s: %v", p.Name, ok)
		}
	}
	if len(protocols) != len(manifest.Protocols)-1 {
		t.Errorf("the engine has %d drivers, want %d", len(protocols), len(manifest.Protocols)-1)
	}
}
