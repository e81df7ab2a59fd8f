package probe

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/netns"
)

// A server behind a tap listens on no port that the kernel knows. What the kernel does know is who
// holds the device that the tap is, and whether it carries frames.

// Able says, by a *Missing, what keeps servers like this model's from having the hosts and the
// clients that they are checked with.
func Able(service *manifest.Service, m *manifest.Model) error {
	if err := netns.Able(m.Hosts); err != nil {
		what := "two network namespaces"
		if m.Hosts == manifest.Tap {
			what = "a tap"
		}
		return &Missing{Need: what, Install: err.Error()}
	}
	if service.Protocol != manifest.Ping {
		return nil
	}
	if _, err := exec.LookPath("ping"); err != nil {
		return &Missing{Need: "ping", Install: "apt-get install iputils-ping"}
	}
	return nil
}

// carrierLimit is a net for the kernel to switch a tap on once a program is behind it: its link
// watch takes at most a second on an idle machine.
const carrierLimit = time.Minute

// behindTap tells whether the server brings the stack that answers.
func (s *Server) behindTap() bool { return s.Net != nil && s.Net.Hosts == manifest.Tap }

// checkReady holds a server that says it is ready to its word.
func (s *Server) checkReady(ctx context.Context) error {
	if err := s.CheckOwner(); err != nil || !s.behindTap() {
		return err
	}
	for until := time.Now().Add(carrierLimit); !carries(s.Net); {
		if time.Now().After(until) {
			return fmt.Errorf("the tap %s does not come up within %v of the server's being "+
				"behind it", s.Net.Device, carrierLimit)
		}
		if err := rest(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// carries tells whether frames pass the tap: somebody is behind it, and the kernel has noticed.
func carries(network *netns.Pair) (up bool) {
	_ = netns.Do(network.Path("server"), func() error { // no namespace: no tap
		device, err := net.InterfaceByName(network.Device)
		up = err == nil && device.Flags&net.FlagRunning != 0
		return nil
	})
	return up
}

func (s *Server) checkAttached() error {
	if s.attached() {
		return nil
	}
	if dead := s.Check(); dead != nil {
		return dead
	}
	return &Failure{TapOwner, fmt.Sprintf("is not behind the tap %s, though it said ready",
		s.Net.Device), s.Tail()}
}

// attached looks for the tap among the open files of the server's processes.
func (s *Server) attached() bool {
	for _, pid := range s.Group.PIDs() {
		infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid)) // the pattern is right
		for _, info := range infos {
			text, _ := os.ReadFile(info) // closed meanwhile: not attached
			for line := range strings.Lines(string(text)) {
				// tun_chr_show_fdinfo of the kernel's drivers/net/tun.c
				if name, ok := strings.CutPrefix(line, "iff:\t"); ok &&
					strings.TrimSpace(name) == s.Net.Device {
					return true
				}
			}
		}
	}
	return false
}
