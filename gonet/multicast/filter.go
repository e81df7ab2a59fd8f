package multicast

import (
	"net/netip"
	"slices"
)

// Filter says from which sources datagrams to a group are wanted (RFC 3376 section 2): from those
// listed, or with Exclude from all but those. The zero value wants none: it is that of a group that
// was not joined.
type Filter struct {
	Exclude bool
	Sources []netip.Addr // sorted, without duplicates
}

// IsNone tells whether the filter wants nothing at all.
func (f Filter) IsNone() bool { return !f.Exclude && len(f.Sources) == 0 }

// Accepts tells whether datagrams from a source are wanted.
func (f Filter) Accepts(source netip.Addr) bool { return contains(f.Sources, source) != f.Exclude }

// With returns the filter with one more source in its list.
func (f Filter) With(source netip.Addr) Filter {
	return Filter{f.Exclude, union(f.Sources, []netip.Addr{source})}
}

// Without returns the filter without a source in its list.
func (f Filter) Without(source netip.Addr) Filter {
	return Filter{f.Exclude, difference(f.Sources, []netip.Addr{source})}
}

// Merge returns the filter that wants what any of the filters wants (RFC 3376 section 3.2).
func Merge(all ...Filter) Filter {
	var merged Filter
	var included []netip.Addr
	for _, f := range all {
		switch {
		case !f.Exclude:
			included = union(included, f.Sources)
		case !merged.Exclude:
			merged = Filter{true, f.Sources}
		default:
			merged.Sources = intersection(merged.Sources, f.Sources)
		}
	}
	if !merged.Exclude {
		return Filter{Sources: included}
	}
	merged.Sources = difference(merged.Sources, included)
	return merged
}

// The operations on sorted lists of sources. None of them changes its arguments.

func contains(all []netip.Addr, a netip.Addr) bool {
	_, found := slices.BinarySearchFunc(all, a, netip.Addr.Compare)
	return found
}

func union(a, b []netip.Addr) []netip.Addr {
	all := slices.Concat(a, b)
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

func intersection(a, b []netip.Addr) (both []netip.Addr) {
	for _, x := range a {
		if contains(b, x) {
			both = append(both, x)
		}
	}
	return both
}

func difference(a, b []netip.Addr) (left []netip.Addr) {
	for _, x := range a {
		if !contains(b, x) {
			left = append(left, x)
		}
	}
	return left
}
