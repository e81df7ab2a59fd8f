package serve

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
	"interleave/internal/probe/toolchain"
)

// A server behind a tap listens on no port of the kernel's. The kernel knows which process holds
// the tap, and whether the tap carries frames.

// Able returns a *toolchain.Missing if this machine cannot make the hosts of the model's servers,
// or lacks a program that checks them.
func Able(service *manifest.Service, m *manifest.Model) error {
	if err := netns.Able(m.Hosts); err != nil {
		what := "two network namespaces"
		if m.Hosts == manifest.Tap {
			what = "a tap"
		}
		return &toolchain.Missing{Need: what, Install: err.Error()}
	}
	if service.Protocol != manifest.Ping {
		return nil
	}
	if _, err := exec.LookPath("ping"); err != nil {
		return &toolchain.Missing{Need: "ping", Install: "apt-get install iputils-ping"}
	}
	return nil
}

// carrierLimit bounds how long the kernel may take to switch a tap on after a program is behind it.
// The kernel's link watch takes at most a second on an idle machine.
const carrierLimit = time.Minute

// BehindTap reports whether the server is behind a tap and has a TCP/IP stack of its own.
func (s *Server) BehindTap() bool { return s.Net != nil && s.Net.Hosts == manifest.Tap }

// checkReady returns a *Failure if a server that says it is ready is not. For a server behind a tap
// it waits until the tap is up.
func (s *Server) checkReady(ctx context.Context) error {
	if err := s.CheckOwner(); err != nil || !s.BehindTap() {
		return err
	}
	for until := time.Now().Add(carrierLimit); !carries(s.Net); {
		if time.Now().After(until) {
			return fmt.Errorf("the tap %s does not come up within %v of the server's being "+
				"behind it", s.Net.Device, carrierLimit)
		}
		if err := Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// carries reports whether frames pass the tap: a program is behind it, and the kernel has noticed.
func carries(network *netns.Pair) (up bool) {
	_ = netns.Do(network.Path("server"), func() error { // without the namespace there is no tap
		device, err := net.InterfaceByName(network.Device)
		up = err == nil && device.Flags&net.FlagRunning != 0
		return nil
	})
	return up
}

// checkAttached returns a *Failure unless the server is behind its tap.
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

// attached reports whether one of the server's processes has the tap open.
func (s *Server) attached() bool {
	for _, pid := range s.Group.PIDs() {
		infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid)) // the pattern is valid
		for _, info := range infos {
			text, _ := os.ReadFile(info) // the file was closed meanwhile
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
