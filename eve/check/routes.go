package check

import (
	"slices"
	"strconv"
	"strings"

	"interleave/eve/syntax"
)

// The callback of a route of io.http asks for the parameters of its pattern by their names. Where
// the pattern and the callback stand in one call, a wrong name is an error of the program. In other
// places the call of exchange.param fails.

// checkRoute looks at a call of a method of http.routes.
func (l *lowerer) checkRoute(f *function, given *givenArgs) {
	if f.owner == nil || f.owner.name != "routes" || !f.module.std ||
		f.module != l.modules["io.http"] {
		return
	}
	var pattern *syntax.Lit
	var run *syntax.Lambda
	for i, p := range paramsOf(f) {
		if p.Name == nil || i >= len(given.args) || given.args[i] == nil {
			continue
		}
		switch p.Name.Text {
		case "pattern":
			pattern, _ = bare(given.args[i].X).(*syntax.Lit)
		case "run":
			run, _ = bare(given.args[i].X).(*syntax.Lambda)
		}
	}
	if pattern == nil || pattern.Kind != syntax.StringLit || run == nil {
		return
	}
	x := paramName(run)
	if x == "" {
		return
	}
	kinds := routeParams(pattern.Value)
	syntax.Walk(run, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lambda:
			return n == run || paramName(n) != x
		case *syntax.Call:
			l.checkParam(n, x, pattern, kinds)
		}
		return true
	})
}

// paramName is the name of the first parameter of a lambda.
func paramName(x *syntax.Lambda) string {
	if len(x.Params) == 0 || x.Params[0] == nil || x.Params[0].Name == nil {
		return ""
	}
	return x.Params[0].Name.Text
}

// A routeParam is a parameter of a pattern with its kind: "int" of {id:int}, "..." of {path...}.
type routeParam struct{ name, kind string }

// routeParams lists the parameters of a pattern, as io.paths reads it.
func routeParams(pattern string) (all []routeParam) {
	for part := range strings.SplitSeq(pattern, "/") {
		inner, opened := strings.CutPrefix(part, "{")
		inner, closed := strings.CutSuffix(inner, "}")
		if !opened || !closed {
			continue
		}
		name, kind, _ := strings.Cut(inner, ":")
		if rest, ok := strings.CutSuffix(inner, "..."); ok {
			name, kind = rest, "..."
		}
		all = append(all, routeParam{name, kind})
	}
	return all
}

// checkParam looks at a call of x.param or x.number with a literal name.
func (l *lowerer) checkParam(c *syntax.Call, x string, pattern *syntax.Lit, params []routeParam) {
	fun, ok := bare(c.Fun).(*syntax.Selector)
	if !ok || fun.Name == nil || len(c.Args) != 1 || c.Args[0] == nil {
		return
	}
	on, ok := bare(fun.X).(*syntax.Ident)
	if !ok || on.Name != x || fun.Name.Text != "param" && fun.Name.Text != "number" {
		return
	}
	lit, ok := bare(c.Args[0].X).(*syntax.Lit)
	if !ok || lit.Kind != syntax.StringLit {
		return
	}
	var names []string
	for _, p := range params {
		names = append(names, p.name)
	}
	i := slices.Index(names, lit.Value)
	switch {
	case i < 0:
		d := l.errorf("E0361", lit.Span, "the route %s has no parameter '%s'", pattern.Value,
			lit.Value)
		d.Also = also(pattern.Span, "its pattern")
		if best := nearest(lit.Value, slices.Clone(names)); best != "" {
			l.fixText(d, lit.Span, strconv.Quote(best), "")
		}
	case fun.Name.Text == "number" && params[i].kind != "int" &&
		!strings.HasPrefix(params[i].kind, "["): // a set may be one of digits
		d := l.errorf("E0361", lit.Span, "'%s' may be any text", lit.Value)
		d.Also = also(pattern.Span, "write {"+lit.Value+":int} here")
	}
}
