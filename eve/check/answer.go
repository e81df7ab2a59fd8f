package check

import (
	"interleave/eve/ir"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// answerName is the callback in a function `name: (..) <- T:`. A call of it hands over the value
// for which the caller waits.
const answerName = "answer"

// answer makes that callback: <(T) void>@, without a parameter if T is void.
func (c *checker) answer(result *types.Type, at syntax.Type) *ir.Var {
	var takes []*types.Type
	if result != types.VoidT {
		takes = append(takes, result)
	}
	return &ir.Var{Name: answerName, Kind: ir.Param, Span: at.Place(),
		Type: c.universe.Shared(c.universe.Func(takes, types.VoidT, false))}
}

// checkAnswer reports a function behind <- that never mentions its answer, so that its callers
// would wait for ever.
func (l *lowerer) checkAnswer(t *syntax.Func) {
	if l.m.mentions(&syntax.Name{Text: answerName}, t.Body.Span) {
		return
	}
	d := l.errorf("E0360", t.Name.Span, "'%s' is called by <-, and never answers", t.Name.Text)
	d.Label = "call answer(..) when the value is there, here or in what it starts"
}
