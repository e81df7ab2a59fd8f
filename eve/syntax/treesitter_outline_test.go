package syntax

import (
	"fmt"
	"reflect"
	"slices"

	"interleave/eve/source"
)

// tsKinds are the kinds of tree-sitter's nodes by the types of the parser's.
var tsKinds = map[string]string{
	"Import": "import_declaration", "VarDecl": "variable_declaration",
	"TypeDecl": "type_declaration", "UnionDecl": "union_declaration",
	"ConstDecl": "const_declaration", "ExternDecl": "extern_declaration",
	"TestDecl": "test_declaration", "TypeParam": "type_parameter", "Param": "parameter",
	"Case": "union_case", "Perms": "permission_list", "Perm": "permission",

	"NamedType": "named_type", "SuffixType": "suffixed_type", "FuncType": "function_type",
	"TupleType": "tuple_type",

	"AssignStmt": "assignment", "TaskStmt": "task_statement",
	"TaskForStmt": "task_for_statement", "FinishStmt": "finish_statement",
	"OnStmt": "on_statement", "IfStmt": "if_statement", "WhileStmt": "while_statement",
	"ForStmt": "for_statement", "ForInStmt": "for_in_statement", "MatchStmt": "match_statement",
	"ReturnStmt": "return_statement", "BreakStmt": "break_statement",
	"ContinueStmt": "continue_statement", "PassStmt": "pass_statement",
	"AssertStmt": "assert_statement", "FailStmt": "fail_statement",
	"DeferStmt": "defer_statement", "EmitStmt": "emit_statement",

	"Arm": "match_arm", "CasePattern": "case_pattern", "LitPattern": "literal_pattern",
	"AnyPattern": "wildcard_pattern",

	"FString": "format_string", "ListLit": "list", "TupleLit": "tuple",
	"Paren": "parenthesized_expression", "Unary": "unary_expression",
	"Binary": "binary_expression", "ElseExpr": "else_expression",
	"Propagate": "propagate_expression", "Call": "call_expression",
	"Selector": "selector_expression", "Index": "index_expression", "Lambda": "lambda",

	"Name": tsWord, "Ident": tsWord,
}

// tsLiterals are those of literals.
var tsLiterals = map[LitKind]string{IntLit: "integer", FloatLit: "float", CharLit: "character",
	StringLit: "string", BoolLit: "boolean", NoneLit: "none", DurationLit: "duration"}

// tsWord is the kind of all names here.
const tsWord = "word"

// compared are the kinds that outlines have. The others have no counterpart in the parser's tree:
// blocks, for one, are the bodies of statements there.
var compared = func() map[string]bool {
	all := map[string]bool{"function_declaration": true, "extern_function": true,
		"named_argument": true, "await_statement": true, "type_expression": true}
	for _, kind := range tsKinds {
		all[kind] = true
	}
	for _, kind := range tsLiterals {
		all[kind] = true
	}
	return all
}()

// outlined is a line of an outline. Its fields have a fixed width, so that outlines can be sorted.
func outlined(start, end int, kind string) string {
	return fmt.Sprintf("%09d %09d %s", start, end, kind)
}

// parserOutline lists the places and kinds of the nodes of the parser's tree.
func parserOutline(f *File) []string {
	var all []string
	add := func(s source.Span, kind string) {
		all = append(all, outlined(s.Start, s.End, kind))
	}
	ofExpr := map[*NamedType]bool{} // in a TypeExpr, of whose place they are
	Walk(f, func(n Node) bool {
		switch n := n.(type) {
		case *Func:
			if n.Speed != "" {
				add(n.Span, "extern_function")
			} else {
				add(n.Span, "function_declaration")
			}
		case *Arg:
			if n.Name != nil {
				add(n.Span, "named_argument")
			}
		case *Lit:
			add(n.Span, tsLiterals[n.Kind])
		case *TypeExpr:
			add(n.Span, "type_expression")
			ofExpr[n.Type.(*NamedType)] = true
		case *NamedType:
			if !ofExpr[n] {
				add(n.Span, "named_type")
			}
		case *AwaitStmt:
			add(head(n), "await_statement")
		default:
			if kind := tsKinds[reflect.TypeOf(n).Elem().Name()]; kind != "" {
				add(n.Place(), kind)
			}
		}
		return true
	})
	slices.Sort(all)
	return all
}

// head is the place of an await without the rest of its block, which the parser counts as its body.
func head(a *AwaitStmt) source.Span {
	s := a.Span
	s.End = a.Call.Place().End
	if a.Within != nil {
		s.End = a.Within.Place().End
	}
	if a.Perms != nil {
		s.End = a.Perms.Span.End
	}
	return s
}

// grammarOutline lists the places and kinds of the nodes of tree-sitter's tree, as far as the
// parser's has them, too.
func grammarOutline(nodes []tsNode) []string {
	var all []string
	inPath := make([]bool, len(nodes)) // selectors of a.b<int>(), which are a type's path
	for i, n := range nodes {
		kind, above := n.kind, ""
		if n.parent >= 0 {
			above = nodes[n.parent].kind
		}
		switch kind {
		case "identifier", "type_identifier", "element_index":
			kind = tsWord
		case "none":
			if above == "case_pattern" {
				kind = tsWord
			}
		case "string":
			if above == "test_declaration" || above == "extern_declaration" {
				continue
			}
		case "pass_statement":
			if above == "type_body" { // the parser has no node for it
				continue
			}
		case "selector_expression":
			inPath[i] = above == "type_expression" || n.parent >= 0 && inPath[n.parent]
			if inPath[i] {
				continue
			}
		}
		if compared[kind] {
			all = append(all, outlined(n.start, n.end, kind))
		}
	}
	slices.Sort(all)
	return all
}
