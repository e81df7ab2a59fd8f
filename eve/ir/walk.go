package ir

// Operands gives the expressions that stand directly in e, in the order in which they are
// evaluated. The body of a closure is not among them.
func Operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Deref:
		return []Expr{e.X}
	case *Box:
		return []Expr{e.X}
	case *Field:
		return []Expr{e.X}
	case *Element:
		return []Expr{e.X}
	case *Index:
		return []Expr{e.X, e.I}
	case *Cut:
		return present(e.X, e.Lo, e.Hi)
	case *Range:
		return present(e.Lo, e.Hi)
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Convert:
		return []Expr{e.X}
	case *Call:
		return e.Args
	case *CallValue:
		return append([]Expr{e.Fun}, e.Args...)
	case *Post:
		return append([]Expr{e.Fun}, e.Args...)
	case *MakeStruct:
		return e.Fields
	case *MakeCase:
		return e.Fields
	case *MakeTuple:
		return e.Elems
	case *MakeList:
		return e.Elems
	case *Wrap:
		return []Expr{e.X}
	case *MakeError:
		return []Expr{e.X}
	case *Propagate:
		return []Expr{e.X}
	case *Else:
		return []Expr{e.X, e.Default}
	case *Copy:
		return []Expr{e.X}
	case *Format:
		var all []Expr
		for _, p := range e.Parts {
			all = append(all, present(p.X)...)
		}
		return all
	}
	return nil
}

func present(all ...Expr) []Expr {
	var some []Expr
	for _, e := range all {
		if e != nil {
			some = append(some, e)
		}
	}
	return some
}

// A Visitor is told of what stands in a body, in the order in which it runs. A nil
// function is not asked.
type Visitor struct {
	Expr func(Expr)       // before its operands
	Stmt func(Stmt)       // before its parts
	Body func(*Body) bool // whether to go into it
}

// Block visits b.
func (v *Visitor) Block(b *Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		v.statement(s)
	}
}

func (v *Visitor) statement(s Stmt) {
	if s == nil {
		return
	}
	if v.Stmt != nil {
		v.Stmt(s)
	}
	for _, e := range Values(s) {
		v.expr(e)
	}
	switch s := s.(type) {
	case *Spawn:
		v.body(s.Body)
	case *SpawnEach:
		v.body(s.Body)
	case *On:
		v.body(s.Handler)
	case *Await:
		v.body(s.Rest)
	case *Repeat:
		v.Block(s.Init)
		v.expr(s.Cond)
		v.Block(s.Body)
		v.statement(s.Step)
	default:
		for _, b := range Blocks(s) {
			v.Block(b)
		}
	}
}

// Values gives the expressions that stand directly in s and are evaluated before anything else in
// it, in order. The condition of a Repeat is not among them: it comes behind its Init.
func Values(s Stmt) []Expr {
	switch s := s.(type) {
	case *Declare:
		return present(s.Init)
	case *Unpack:
		return present(s.Init)
	case *Assign:
		return present(s.Value, s.Target)
	case *Repoint:
		return present(s.Value, s.Target)
	case *Do:
		return present(s.X)
	case *If:
		return present(s.Cond)
	case *ForIn:
		return present(s.X)
	case *Match:
		return present(s.X)
	case *Return:
		return present(s.X)
	case *Assert:
		return present(s.X, s.Message)
	case *Fail:
		return present(s.X)
	case *SpawnEach:
		return present(s.X)
	case *On:
		return present(s.Emitter)
	case *Await:
		if s.Call == nil {
			return present(s.Within)
		}
		return present(s.Call, s.Within)
	case *Emit:
		return present(s.Self, s.Value)
	}
	return nil
}

// Blocks gives the blocks that stand directly in s, those of its bodies and of a Repeat
// not among them.
func Blocks(s Stmt) []*Block {
	switch s := s.(type) {
	case *If:
		if s.Else == nil {
			return []*Block{s.Then}
		}
		return []*Block{s.Then, s.Else}
	case *ForIn:
		return []*Block{s.Body}
	case *Match:
		var all []*Block
		for _, a := range s.Arms {
			all = append(all, a.Body)
		}
		return all
	case *Defer:
		return []*Block{s.Block}
	case *Finish:
		return []*Block{s.Block}
	case *Nest:
		return []*Block{s.Block}
	}
	return nil
}

// Walk visits e.
func (v *Visitor) Walk(e Expr) { v.expr(e) }

func (v *Visitor) expr(e Expr) {
	if e == nil {
		return
	}
	if v.Expr != nil {
		v.Expr(e)
	}
	for _, o := range Operands(e) {
		v.expr(o)
	}
	if c, ok := e.(*Closure); ok {
		v.body(c.Body)
	}
}

func (v *Visitor) body(b *Body) {
	if b != nil && (v.Body == nil || v.Body(b)) {
		v.Block(b.Block)
	}
}

// Owner gives the body whose permissions b runs under: b itself, or the creator of a Lambda.
func (b *Body) Owner() *Body {
	for b != nil && b.Kind == Lambda && b.Outer != nil {
		b = b.Outer
	}
	return b
}

// Origin follows captures outwards, to the variable that v stands for.
func (v *Var) Origin() *Var {
	for v.From != nil {
		v = v.From
	}
	return v
}
