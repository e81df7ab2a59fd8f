package perm

import "interleave/eve/ir"

// R2: what a body may do to an object comes from its list; besides, it has full permission on the
// emitter whose event it handles, unless it lists that, and on the objects that it builds itself. A
// handle that came in any other way gives null. So every permission that a body uses is one that
// the run time has acquired for it, or is on an object that was born held by it.

// held gives the permission of this body on the object that v names.
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

// entry gives the entry of this body's list that names v; nil when there is none.
func (s *state) entry(v *ir.Var) *ir.Entry {
	for _, e := range s.body.Owner().Perms {
		if e.Var == v {
			return e
		}
	}
	return nil
}

// asked is what an entry with the sign asks for.
func asked(sign byte) mode {
	switch sign {
	case '+':
		return full
	case 0:
		return read
	}
	return null
}
