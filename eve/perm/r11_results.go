package perm

import "interleave/eve/ir"

// R11: module variables are constants or shared objects, as the checker ensures. So all storage
// that two bodies can both reach is behind a handle. A value that leaves a body (a result, the
// value of an event, an argument that is posted) is owned by its receiver: no view leaves.

func (s *state) result(st *ir.Return) {
	if st.X == nil {
		return
	}
	if !isInvalid(st.X.Type()) && st.X.Type().HasView() {
		s.returnsView(st.X)
		return
	}
	s.owned(st.X)
}

func (s *state) emit(st *ir.Emit) {
	s.value(st.Self)
	if st.Value != nil {
		s.owned(st.Value)
	}
}

// leaves reports a value that shows storage of this body.
func (s *state) leaves(e ir.Expr, how string) {
	if !isInvalid(e.Type()) && e.Type().HasView() {
		s.keepsView(e.At(), "this value "+how+" and shows storage that may be gone by then")
	}
}
