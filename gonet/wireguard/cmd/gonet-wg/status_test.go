package main

import (
	"strings"
	"testing"
	"time"
)

// TestParseStatus reads what a device answers. The lines come in no order of peers.
func TestParseStatus(t *testing.T) {
	const answer = `private_key=c809f3e5317e9575c926d7ade2dca2e237cc94dabe85dad8a5080906007b7c19
listen_port=51820
public_key=ff00000000000000000000000000000000000000000000000000000000000001
preshared_key=0000000000000000000000000000000000000000000000000000000000000000
protocol_version=1
last_handshake_time_sec=0
last_handshake_time_nsec=0
tx_bytes=148
rx_bytes=0
persistent_keepalive_interval=0
allowed_ip=0.0.0.0/0
public_key=0100000000000000000000000000000000000000000000000000000000000001
preshared_key=1690b2870b3d731c16a15e3110bb5f26f8c937ecd05513c84a59515a07a8a551
endpoint=[2001:db8::1]:51820
last_handshake_time_sec=1700000000
last_handshake_time_nsec=5
tx_bytes=18446744073709551615
rx_bytes=92
`
	now := time.Unix(1700000075, 700)
	var lines []string
	for _, s := range parseStatus(answer) {
		lines = append(lines, s.text(now))
	}
	// The order is that of the keys in base64.
	const want = `peer /wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=: endpoint unknown, no handshake, ` +
		`received 0 bytes, sent 148 bytes
peer AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=: endpoint [2001:db8::1]:51820, ` +
		`handshake 1m15s ago, received 92 bytes, sent 18446744073709551615 bytes`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := parseStatus(""); len(got) != 0 {
		t.Errorf("peers of nothing: %+v", got)
	}
}
