package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.zx2c4.com/wireguard/device"

	"interleave/gonet/wireguard/quick"
)

// The pauses between two looks at the handshakes: before the first report, and after it. Guesses.
const (
	quickPoll = 100 * time.Millisecond
	slowPoll  = time.Second
)

// greet is the goroutine that begins a handshake with each peer whose endpoint is known, and tells
// the user who has answered and who has not. It ends when all have answered.
func (t *tunnel) greet(ctx context.Context) {
	waiting := map[quick.PublicKey]bool{}
	for i, p := range t.config.Peers {
		peer := t.device.LookupPeer(device.NoisePublicKey(p.PublicKey))
		if t.endpoints[i].IsValid() && peer != nil {
			waiting[p.PublicKey] = true
			_ = peer.SendHandshakeInitiation(false) // the device logs its errors, and tries again
		}
	}
	began, reported := time.Now(), false
	tick := time.NewTicker(quickPoll)
	defer tick.Stop()
	for len(waiting) > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		silent := false
		for _, s := range t.status() {
			switch {
			case !waiting[s.key]:
			case !s.handshake.IsZero():
				t.log.printf("peer %v has answered from %s", s.key, s.endpoint)
				delete(waiting, s.key)
			case !reported && time.Since(began) > device.RekeyTimeout:
				silent = true
				t.log.printf("peer %v has not answered from %s for %v. Is that its address? Is "+
					"its key in the file right, and does it know this host's key, %v? Does a "+
					"firewall drop UDP? Trying on.", s.key, s.endpoint, device.RekeyTimeout,
					t.config.PrivateKey.Public())
			}
		}
		if silent {
			reported = true
			tick.Reset(slowPoll)
		}
	}
}

// report is the goroutine that prints the status each interval, unless it is 0, and when a signal
// asks for it. It ends with the context.
func (t *tunnel) report(ctx context.Context, every time.Duration, asked <-chan os.Signal) {
	var tick <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-asked:
		case <-tick:
		case <-ctx.Done():
			return
		}
		for _, s := range t.status() {
			t.log.printf("%s", s.text(time.Now()))
		}
	}
}

// peerStatus is what the device knows of a peer.
type peerStatus struct {
	key            quick.PublicKey
	endpoint       string    // empty: not known
	handshake      time.Time // of the last one; zero: none
	received, sent uint64    // bytes of WireGuard
}

// status returns the peers, ordered by key.
func (t *tunnel) status() []peerStatus {
	text, err := t.device.IpcGet()
	if err != nil {
		return nil // it writes to memory
	}
	return parseStatus(text)
}

// parseStatus reads the answer to "get" of the configuration protocol. It passes over the secrets.
func parseStatus(text string) []peerStatus {
	var all []peerStatus
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "public_key" {
			s := peerStatus{}
			_, _ = hex.Decode(s.key[:], []byte(value)) // the device writes it right
			all = append(all, s)
			continue
		}
		if len(all) == 0 {
			continue // of the device itself
		}
		s := &all[len(all)-1]
		n, _ := strconv.ParseUint(value, 10, 64) // values that are no numbers are not used as such
		switch key {
		case "endpoint":
			s.endpoint = value
		case "last_handshake_time_sec":
			if n != 0 {
				s.handshake = time.Unix(int64(n), 0) //nolint:gosec // a time of the device's clock
			}
		case "rx_bytes":
			s.received = n
		case "tx_bytes":
			s.sent = n
		}
	}
	slices.SortFunc(all, func(a, b peerStatus) int {
		return cmp.Compare(a.key.String(), b.key.String())
	})
	return all
}

// text is the line for the user.
func (s peerStatus) text(now time.Time) string {
	handshake := "no handshake"
	if !s.handshake.IsZero() {
		handshake = fmt.Sprintf("handshake %v ago", now.Sub(s.handshake).Truncate(time.Second))
	}
	return fmt.Sprintf("peer %v: endpoint %s, %s, received %d bytes, sent %d bytes", s.key,
		cmp.Or(s.endpoint, "unknown"), handshake, s.received, s.sent)
}
