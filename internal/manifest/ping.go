package manifest

import (
	"fmt"
	"time"
)

// Pings: echo requests of ICMP to a host of its own. Each pinger has an identifier and no
// connection.

// Ping is the protocol of hosts that are pinged.
const Ping = "ping"

// Pings is the shape of pingers, which send at an interval or as they are answered.
const Pings Shape = "ping"

// Loss is the share of the pings that were not answered, in percent, and Answered that of the
// others. Claims that hardly a ping is lost are about Answered: a loss of nothing has no logarithm.
const (
	Loss     Metric = "loss"
	Answered Metric = "answered"
)

// leastInterval is between two pings of a pinger, or of an idle client of a chat.
const leastInterval = time.Millisecond

var pingFamily = Family{
	Name:      "ping",
	Protocols: []Protocol{{Name: Ping, Shape: Pings, SizeBytes: 56}},
	shapes: []shapeRow{{shape: Pings, keys: "connections size requests interval",
		needs: []must{needConnections, needSize},
		timed: func(l Load) bool { return l.Interval > 0 }}},
	keys: []loadKey{{
		name:  "interval",
		read:  func(t *table, l *Load) { l.Interval = t.interval() },
		clear: func(l *Load) { l.Interval = 0 },
		text: func(l Load) string {
			if l.Interval == 0 {
				return ""
			}
			return quoted(l.Interval.String())
		},
	}},
	metrics: []metricRow{
		{Loss, MetricInfo{"% of pings", "loss", false,
			"lost {ratio}x {b}'s share of pings",
			"lost {ratio} % of the pings"}, needsPings},
		{Answered, MetricInfo{"% of pings", "pings answered", true,
			"answered {ratio}x {b}'s share of pings",
			"answered {ratio} % of the pings"}, needsPings},
	},
	owns: func(l Load) bool { return l.Shape == Pings },
	fits: func(l Load, protocol string) (key string, err error) {
		if (protocol == Ping) != (l.Shape == Pings) {
			return "shape",
				fmt.Errorf(
					"shape %q and the protocol %q do not go together: expected \"ping\" for both",
					l.Shape, protocol)
		}
		return "", nil
	},
}

func needsPings(l Load) (needs string) {
	if l.Shape != Pings {
		return `a point of shape "ping"`
	}
	return ""
}

// interval is a duration, or "none" in place of the one that [load] has.
func (t *table) interval() time.Duration {
	if v, _ := t.get("interval"); v == "none" {
		return 0
	}
	return t.duration("interval", leastInterval, 0)
}
