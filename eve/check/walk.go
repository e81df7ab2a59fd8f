package check

import "interleave/eve/ir"

// eachExpr calls f for x and the expressions in it; bodies of closures are not entered.
func eachExpr(x ir.Expr, f func(ir.Expr)) {
	if x == nil {
		return
	}
	f(x)
	for _, part := range partsOf(x) {
		eachExpr(part, f)
	}
}

// partsOf gives the expressions directly in x.
func partsOf(x ir.Expr) []ir.Expr {
	switch x := x.(type) {
	case *ir.Deref:
		return []ir.Expr{x.X}
	case *ir.Box:
		return []ir.Expr{x.X}
	case *ir.Field:
		return []ir.Expr{x.X}
	case *ir.Element:
		return []ir.Expr{x.X}
	case *ir.Index:
		return []ir.Expr{x.X, x.I}
	case *ir.Cut:
		return []ir.Expr{x.X, x.Lo, x.Hi}
	case *ir.Range:
		return []ir.Expr{x.Lo, x.Hi}
	case *ir.Unary:
		return []ir.Expr{x.X}
	case *ir.Binary:
		return []ir.Expr{x.X, x.Y}
	case *ir.Convert:
		return []ir.Expr{x.X}
	case *ir.Call:
		return x.Args
	case *ir.CallValue:
		return append([]ir.Expr{x.Fun}, x.Args...)
	case *ir.Post:
		return append([]ir.Expr{x.Fun}, x.Args...)
	case *ir.MakeStruct:
		return x.Fields
	case *ir.MakeCase:
		return x.Fields
	case *ir.MakeTuple:
		return x.Elems
	case *ir.MakeList:
		return x.Elems
	case *ir.Wrap:
		return []ir.Expr{x.X}
	case *ir.MakeError:
		return []ir.Expr{x.X}
	case *ir.Propagate:
		return []ir.Expr{x.X}
	case *ir.Else:
		return []ir.Expr{x.X, x.Default}
	case *ir.Format:
		var parts []ir.Expr
		for _, p := range x.Parts {
			parts = append(parts, p.X)
		}
		return parts
	case *ir.Copy:
		return []ir.Expr{x.X}
	}
	return nil
}
