package manifest

// The protocols that are asked for by name somewhere else.
const (
	Chat   = "chat"   // of rooms: services/chat/README.md
	Stream = "stream" // of HTTP streams: services/stream/README.md
	Images = "images" // of image services: services/images/README.md
	Ping   = "ping"   // echo requests of ICMP, to a host of its own
	// connections of TCP to {port} of a host of its own, which discards, and to the port after it,
	// which sends without end
	Transfer = "transfer"
	// of services that are no servers: a program is told on its command line what to solve, and
	// prints the result and the time of each solution
	Program = "program"
)

// A Protocol is what a service can be measured with.
type Protocol struct {
	Name string
	// Shape and SizeBytes are what "interleave bench" offers unless it is told otherwise. A
	// protocol without a shape is one that it cannot offer.
	Shape     Shape
	SizeBytes int
}

// Protocols are all that a service.toml can name. The load engine has a driver for each but
// Program.
var Protocols = []Protocol{
	{"echo", Closed, 16},
	{"counter", Closed, 1},
	{"sink", Paced, 1250},
	{Chat, Fanout, 64},
	{Stream, Streams, 0},
	{Images, "", 0},
	{Ping, Pings, 56},
	{Transfer, Transfers, 4096},
	{Program, "", 0},
}

// ProtocolNamed finds a protocol; nil if there is none of that name.
func ProtocolNamed(name string) *Protocol {
	for i := range Protocols {
		if p := &Protocols[i]; p.Name == name {
			return p
		}
	}
	return nil
}

func protocolWords() (words []string) {
	for _, p := range Protocols {
		words = append(words, p.Name)
	}
	return words
}
