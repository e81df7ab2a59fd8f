package hall

import (
	"fmt"
	"time"
)

// STS is a policy of strict transport security (sts of IRCv3): a client that knows it comes back
// over TLS, and then comes over TLS only.
type STS struct {
	Port     int           // for TLS, which clients without TLS are told
	Duration time.Duration // for which a client keeps the policy; 0 ends the one that it has
}

// strict returns the capability sts, if a client is told. It has a value, so that clients need
// version 302 of CAP LS, and nobody can request it. A policy that ends is told over TLS only: who
// comes without TLS is to be left alone.
func (h *Hall) strict(c *Client) []string {
	s := h.config.STS
	switch {
	case s == nil || c.version < 302:
		return nil
	case c.Secure:
		return []string{fmt.Sprintf("sts=duration=%d", int64(s.Duration.Seconds()))}
	case s.Duration == 0:
		return nil
	}
	return []string{fmt.Sprintf("sts=port=%d,duration=%d", s.Port, int64(s.Duration.Seconds()))}
}
