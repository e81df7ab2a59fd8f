package perm

import "interleave/eve/ir"

// R2: a body's permissions on objects come from its list. In addition it has full permission on
// the emitter whose event it handles, unless the list names it, and on the objects that it builds
// itself. A handle from any other source gives null. So every permission that a body uses was
// acquired by the run time, or is on an object that the body built.

// held returns the permission of this body on the object that v names.
func (s *state) held(v *ir.Var) mode {
	if e := s.entry(v); e != nil {
		return asked(e.Sign)
	}
	b := s.body.Owner()
	switch {
	case v.Built && v.Body != nil && v.Body.Owner() == b:
		return full
	case v == b.Emitter || v.Kind == ir.Emitter && v.Body == b:
		return full
	}
	return null
}

// entry returns the entry of this body's list for v; nil when there is none.
func (s *state) entry(v *ir.Var) *ir.Entry {
	for _, e := range s.body.Owner().Perms {
		if e.Var == v {
			return e
		}
	}
	return nil
}

// asked returns the mode that an entry with the sign asks for.
func asked(sign byte) mode {
	switch sign {
	case '+':
		return full
	case 0:
		return read
	}
	return null
}
