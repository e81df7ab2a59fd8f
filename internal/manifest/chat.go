package manifest

import (
	"errors"
	"fmt"
)

// Chats: clients in rooms, of which some send and all listen. Their requests are messages.

// Chat is the protocol of rooms: services/chat/README.md.
const Chat = "chat"

// The shapes for chats alone. They are loaded by open and paced, too.
const (
	Fanout Shape = "fanout" // senders send as much as is acknowledged and delivered
	Idle   Shape = "idle"   // each client is in a room and sends nothing but a PING at an interval
)

// AllMembers as a load's Members puts all clients into one room.
const AllMembers = mostConnections

// The figures of chats. Their latency is that of deliveries.
const (
	// messages that have come to a client, a second
	Deliveries Metric = "deliveries"
	// microseconds of server CPU for each of them
	CPUPerDelivery Metric = "cpu-per-delivery"
	// microseconds from a message's due time to its acknowledgement; open shape only
	AckP50 Metric = "ack-p50"
	AckP99 Metric = "ack-p99" //
)

// ChatLineBytes is what a line to a room has besides the text: "PRIVMSG #r00000 :" and its end.
const ChatLineBytes = 19

// leastChatBytes and mostChatBytes are the load engine's: room for what makes each text unique, and
// a line of IRC with the longest name of a sender before it.
const (
	leastChatBytes = 32
	mostChatBytes  = 400
)

var chatFamily = Family{
	Name:      "chat",
	Protocols: []Protocol{{Name: Chat, Shape: Fanout, SizeBytes: 64}},
	shapes: []shapeRow{
		{shape: Fanout, keys: "connections size pipeline members senders",
			needs: []must{needConnections, needSize}},
		{shape: Idle, keys: "connections members interval", needs: []must{needConnections,
			{"interval", `how often each client says PING, such as "10s"`}}},
		{shape: Open, keys: "connections size rate gaps members senders"},
		{shape: Paced, keys: "connections size bits members pipeline"},
	},
	keys: []loadKey{
		membersKey(),
		amount("senders", counts, 1, mostConnections, func(l *Load) *int { return &l.Senders }),
	},
	metrics: []metricRow{
		{Deliveries, MetricInfo{"deliveries/s", "deliveries", true,
			"delivered {ratio}x {b}'s messages a second",
			"delivered {ratio} messages a second"}, needsDeliveries},
		{CPUPerDelivery, MetricInfo{"µs/delivery", "CPU for each delivery", false,
			"used {ratio}x {b}'s CPU for each delivery",
			"used {ratio} µs of CPU for each delivery"}, needsDeliveries},
		{AckP50, MetricInfo{"µs", "median delay of acknowledgements", false,
			"had {ratio}x {b}'s median delay of acknowledgements",
			"had a median delay of acknowledgements of {ratio} µs"}, needsAcks},
		{AckP99, MetricInfo{"µs", "99th percentile of the delay of acknowledgements", false,
			"had {ratio}x {b}'s 99th percentile of the delay of acknowledgements",
			"had a 99th percentile of the delay of acknowledgements of {ratio} µs"}, needsAcks},
	},
	owns: func(l Load) bool { return l.Members > 0 || l.Shape == Fanout || l.Shape == Idle },
	fits: func(l Load, protocol string) (key string, err error) {
		if err := l.onlySink(protocol); err != nil {
			return "output", err
		}
		return l.fitsChat(protocol)
	},
	holds: true,
}

// membersKey is of a number, or "all", or "none" in place of what [load] has.
func membersKey() loadKey {
	k := amount("members", counts, 1, mostConnections, func(l *Load) *int { return &l.Members })
	count := k.read
	k.read = func(t *table, l *Load) {
		switch v, _ := t.get("members"); v {
		case "all":
			l.Members = AllMembers
		case "none":
			l.Members = 0
		default:
			count(t, l)
		}
	}
	return k
}

func needsDeliveries(l Load) (needs string) {
	if l.Members < 2 || l.Shape == Idle {
		return "a point at which what is said in a room of a chat, of two members at least, " +
			"is delivered"
	}
	return ""
}

func needsAcks(l Load) (needs string) {
	if l.Members == 0 || l.Shape != Open {
		return `a point of shape "open" with members: a chat whose messages are due at times`
	}
	return ""
}

// fitsChat is fits for loads of which one half is a chat.
func (l Load) fitsChat(protocol string) (key string, err error) {
	switch {
	case protocol != Chat && l.Shape != Fanout && l.Shape != Idle:
		return "members", errors.New("only a chat has rooms")
	case protocol != Chat:
		return "shape", fmt.Errorf("shape %q is for chats, and %s is none", l.Shape, protocol)
	case l.Shape != Fanout && l.Shape != Open && l.Shape != Paced && l.Shape != Idle:
		return "shape",
			fmt.Errorf("shape %q and a chat do not go together: expected fanout, open, paced or "+
				"idle", l.Shape)
	case l.Members == 0:
		return "members", errors.New(`members is missing: how many clients share a room, or "all"`)
	case l.Shape != Paced && l.Shape != Idle && min(l.Members, l.Connections) < 2:
		return "members",
			errors.New("a room of one delivers nothing: expected two members at least, or shape " +
				"paced")
	case l.Senders > min(l.Members, l.Connections):
		return "senders", fmt.Errorf("%d senders are more than a room's members", l.Senders)
	case l.Shape != Idle && (l.SizeBytes < leastChatBytes || l.SizeBytes > mostChatBytes):
		return "size",
			fmt.Errorf("a message to a room has %d to %d bytes, got %d: each says whose it is, "+
				"and a line holds no more", leastChatBytes, mostChatBytes, l.SizeBytes)
	}
	return "", nil
}

// Speakers is how many connections send: all of them, but in a chat.
func (l Load) Speakers() int {
	n, members := l.Connections, min(l.Members, l.Connections)
	if l.Senders == 0 || members == 0 {
		return n
	}
	return n/members*min(l.Senders, members) + min(l.Senders, n%members)
}

// BurstBytes is what a paced connection sends at once: a message, or several lines of a chat.
func (l Load) BurstBytes() int {
	if l.Members == 0 {
		return l.SizeBytes
	}
	return max(1, l.Pipeline) * (l.SizeBytes + ChatLineBytes)
}
