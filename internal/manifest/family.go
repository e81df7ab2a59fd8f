package manifest

import (
	"slices"
	"strings"
)

// A Family is the protocols whose loads are described in one way: echo and counter are one, each
// protocol with a driver of its own is another. A file declares each; what the engine and the rooms
// after it must know of a family is declared in internal/load, under the same name.
type Family struct {
	Name      string
	Protocols []Protocol
	// shapes that load the family, those included that another family has declared.
	shapes []shapeRow
	// keys of a load that no family before it in the table has.
	keys    []loadKey
	metrics []metricRow // that only loads of this family show
	// owns says whether a load can be of this family alone. The first family has none: its loads
	// are those that no other owns.
	owns func(l Load) bool
	// fits says which key is to blame if a load cannot be offered over a protocol. Either the
	// protocol is of this family, or the load is, or both.
	fits func(l Load, protocol string) (key string, err error)
	// hides says what a load lacks to show a metric that other families share; nil: nothing.
	hides func(l Load, m Metric) (needs string)
	// carries tells the loads that are measured by how many bytes they carry; nil: none.
	carries func(l Load) bool
	// holds is whether the memory of a server is told by the number of its clients.
	holds bool
}

// A Protocol is what a service can be measured with.
type Protocol struct {
	Name string
	// Shape and SizeBytes are what "interleave bench" offers unless it is told otherwise. A
	// protocol without a shape is one that it cannot offer.
	Shape     Shape
	SizeBytes int
}

// A shapeRow is what a family says of a shape.
type shapeRow struct {
	shape Shape
	keys  string // that mean something in it, besides shape
	needs []must // keys that must be there
	// timed tells the loads whose requests are due at times fixed before the start; nil: none, or
	// the family that declared the shape tells it
	timed func(l Load) bool
	enter func(l *Load) // sets what a load of this shape has by itself; nil: nothing
}

// A must is a key that a load must have, with words and an example for the message if it is
// missing.
type must struct{ key, like string }

// families are all. A load's keys and shapes are listed in this order in messages.
var families = []*Family{
	&requestsFamily,
	&programFamily,
	&pingFamily,
	&transferFamily,
	&sinkFamily,
	&chatFamily,
	&streamFamily,
	&imagesFamily,
}

// Protocols are all that a service.toml can name. The load engine has a driver for each but
// Program.
var Protocols = func() (all []Protocol) {
	for _, f := range families {
		all = append(all, f.Protocols...)
	}
	return all
}()

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

// ShapesOf are the shapes that load a protocol's family.
func ShapesOf(protocol string) (shapes []Shape) {
	if f := FamilyOf(protocol); f != nil {
		for _, row := range f.shapes {
			shapes = append(shapes, row.shape)
		}
	}
	return shapes
}

// FamilyOf finds the family of a protocol; nil if there is no protocol of that name.
func FamilyOf(protocol string) *Family {
	for _, f := range families {
		if slices.ContainsFunc(f.Protocols, func(p Protocol) bool { return p.Name == protocol }) {
			return f
		}
	}
	return nil
}

// fits says whether a load can be offered over a protocol, and which key is to blame if not. The
// protocol's family is asked first, and then the load's, but for the first family: its protocols
// have nothing to say of a load that is another's.
func (l Load) fits(protocol string) (key string, err error) {
	first, second := FamilyOf(protocol), l.Family()
	if first == families[0] {
		first, second = second, first
	}
	if first != nil {
		if key, err = first.fits(l, protocol); err != nil {
			return key, err
		}
	}
	if second != first {
		return second.fits(l, protocol)
	}
	return "", nil
}

// shapeWords are all shapes, each once.
func shapeWords() (words []string) {
	for _, f := range families {
		for _, row := range f.shapes {
			if !slices.Contains(words, string(row.shape)) {
				words = append(words, string(row.shape))
			}
		}
	}
	return words
}

// keysOf are the keys that mean something in a shape. A point that changes the shape inherits only
// these.
func keysOf(s Shape) (keys []string) {
	for _, f := range families {
		for _, row := range f.shapes {
			if row.shape != s {
				continue
			}
			for key := range strings.FieldsSeq(row.keys) {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
	}
	return keys
}

// needsOf are the keys that a load must have, in its shape and family.
func (l Load) needsOf() []must {
	for _, f := range []*Family{l.Family(), &requestsFamily} {
		for _, row := range f.shapes {
			if row.shape == l.Shape && len(row.needs) > 0 {
				return row.needs
			}
		}
	}
	return nil
}
