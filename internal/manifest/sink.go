package manifest

import (
	"errors"
	"fmt"
)

// A sink: what it is sent is never answered, and written to its standard output.

// Sink is the protocol of sinks.
const Sink = "sink"

// OutputFile as a load's Output has a sink write into a file, where the folders of servers are.
const OutputFile = "file"

// leastSinkBytes is the load engine's: room for what makes each line unique.
const leastSinkBytes = 32

var sinkFamily = Family{
	Name:      "sink",
	Protocols: []Protocol{{Name: Sink, Shape: Paced, SizeBytes: 1250}},
	shapes:    []shapeRow{{shape: Paced, keys: "connections size bits output"}},
	keys: []loadKey{
		word("output", []string{OutputFile}, func(l *Load) *string { return &l.Output }),
	},
	owns: func(l Load) bool { return l.Shape == Paced && l.Members == 0 },
	fits: func(l Load, protocol string) (key string, err error) {
		if err := l.onlySink(protocol); err != nil {
			return "output", err
		}
		switch {
		case l.Shape == Paced && l.Pipeline > 1:
			return "pipeline",
				errors.New("only a chat's paced messages come several at once: size says how " +
					"long one is")
		case protocol == Sink && l.Shape != Paced:
			return "shape", fmt.Errorf("a sink never answers: expected shape \"paced\", got %q",
				l.Shape)
		case protocol != Sink && l.Shape == Paced:
			return "shape",
				fmt.Errorf("a paced load reads no reply, which %s sends: expected shape closed, "+
					"open or connect", protocol)
		case protocol == Sink && l.SizeBytes < leastSinkBytes:
			return "size",
				fmt.Errorf("a message to a sink has at least %d bytes, got %d: each line says "+
					"whose it is", leastSinkBytes, l.SizeBytes)
		}
		return "", nil
	},
}

// onlySink is what families say of a load whose output is kept, which only a sink has.
func (l Load) onlySink(protocol string) error {
	if l.Output == "" || protocol == Sink {
		return nil
	}
	return errors.New("only a sink writes what it is sent to its standard output")
}
