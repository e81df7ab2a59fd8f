package syntax

import "interleave/eve/source"

// Node is any part of the tree. Its span runs from its first token to its last; the tokens between,
// with the comments they carry, are in File.Tokens.
type Node interface{ Place() source.Span }

// At is the span of a node; every node embeds it.
type At struct{ Span source.Span }

// Place returns the node's span.
func (a At) Place() source.Span { return a.Span }

// A File is one parsed module. It is complete, however many errors the text has.
type File struct {
	At
	Source *source.File
	// all of them, with layout tokens and trivia: printing them gives the text back
	Tokens  []Token
	Imports []*Import
	Decls   []Decl
}

// Import is `import a.b.c`, `import a.b.c.*`, `import a.b.c as x`.
type Import struct {
	At
	Path []*Name
	All  bool  // .*
	As   *Name // nil if there is no `as`
}

// Name is an identifier with its place.
type Name struct {
	At
	Text string
}

// Decl is a declaration of a module, or a member of a type.
type Decl interface {
	Node
	decl()
}

type (
	// Func is `name: <type T> [perms] (params) result: suite`. Without Body (nil) it is only
	// declared: a native of std, a method of an interface type, or an extern function.
	Func struct {
		At
		Pub        bool
		Name       *Name
		TypeParams []*TypeParam
		Perms      *Perms // nil if there is no list
		Params     []*Param
		Result     Type // nil: void
		Body       *Block
		Async      bool   // declared `name: ... <- T`, called by `x <- name(...)`
		Speed      string // extern only: "fast" or "slow"
		// its head could not be parsed. An error was reported, and calls should get none. It has
		// no Body
		Broken bool
	}
	// VarDecl is `a, b: T(args) = init`, at module level, in a type (a field), or as a statement.
	VarDecl struct {
		At
		Pub   bool
		Names []*Name
		Type  Type
		Args  []*Arg // `(args)` after the type; nil if there are none
		Init  Expr   // nil if there is none
	}
	// TypeDecl is `type name<T>: emitter<A, B>` with fields and methods.
	TypeDecl struct {
		At
		Pub        bool
		Name       *Name
		TypeParams []*TypeParam
		Emits      []Type // of emitter<...>
		IsEmitter  bool
		Members    []Decl // VarDecl and Func
	}
	// UnionDecl is `union name<T>:` with one case a line.
	UnionDecl struct {
		At
		Pub        bool
		Name       *Name
		TypeParams []*TypeParam
		Cases      []*Case
	}
	// ConstDecl is `const name: T = e`; the type may be left out.
	ConstDecl struct {
		At
		Pub  bool
		Name *Name
		Type Type
		Init Expr
	}
	// ExternDecl is `extern "C" "zlib.h":` with signatures.
	ExternDecl struct {
		At
		Header string
		Funcs  []*Func
	}
	// TestDecl is `test "name" [perms]: suite`. Perms is nil if there is no list.
	TestDecl struct {
		At
		Name  string
		Perms *Perms
		Body  *Block
	}
)

func (*Func) decl()       {}
func (*VarDecl) decl()    {}
func (*TypeDecl) decl()   {}
func (*UnionDecl) decl()  {}
func (*ConstDecl) decl()  {}
func (*ExternDecl) decl() {}
func (*TestDecl) decl()   {}

// TypeParam is `type T` or `type T: constraint` in < >.
type TypeParam struct {
	At
	Name       *Name
	Constraint Type // nil if there is none
}

// Param is `name: T`, or `name: T = default`; `self` alone has no type. `=name: T` takes the
// argument: it is copied, or moved on its last use. Other plain parameters are only lent for the
// call.
type Param struct {
	At
	Take    bool
	Name    *Name
	Type    Type
	Default Expr
}

// Case is one case of a union: `circle(r: float)` or `empty`.
type Case struct {
	At
	Name   *Name
	Fields []*Param
}

// Perms is a permission list `[+a, b, -c, =n, &v]`, with its brackets.
type Perms struct {
	At
	Entries []*Perm
}

// Perm is one entry. Sign is '+', '-', '=', '&', or 0 for none (read).
type Perm struct {
	At
	Sign byte
	Name *Name
}

// Type is a type in the text.
type Type interface {
	Node
	typ()
}

type (
	// NamedType is `vector<T>`, `int<8>`, `http.stream`, `array<T, 16>`.
	NamedType struct {
		At
		Path []*Name
		Args []Type // SizeType for numbers
	}
	// SizeType is a constant expression as a type argument: the 16 of array<T, 16>.
	SizeType struct {
		At
		X Expr
	}
	// SuffixType is `T@`, `T&`, `T?`, `T!`.
	SuffixType struct {
		At
		X      Type
		Suffix byte
	}
	// FuncType is `<(A, B) R>`; Par says that `par` follows it.
	FuncType struct {
		At
		Params []Type
		Result Type // nil: void
		Par    bool
	}
	// TupleType is `(A, B)`.
	TupleType struct {
		At
		Elems []Type
	}
)

func (*NamedType) typ()  {}
func (*SizeType) typ()   {}
func (*SuffixType) typ() {}
func (*FuncType) typ()   {}
func (*TupleType) typ()  {}

// Block is a suite: indented statements, or the statement behind the colon on the same line.
type Block struct {
	At
	Stmts []Stmt
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

type (
	// BadStmt is text that could not be parsed; an error was reported for it.
	BadStmt struct{ At }
	// DeclStmt is a local variable.
	DeclStmt struct {
		At
		Var *VarDecl
	}
	// ExprStmt is an expression for its effect.
	ExprStmt struct {
		At
		X Expr
	}
	// AssignStmt is `x = e`, `x += e`; Op is "=", "+=", ...
	AssignStmt struct {
		At
		Target Expr
		Op     string
		Value  Expr
	}
	// TaskStmt is `@ [perms]: suite`.
	TaskStmt struct {
		At
		Perms *Perms // nil if there is none
		Body  *Block
	}
	// TaskForStmt is `@ for (n: T in e) [perms]: suite`.
	TaskForStmt struct {
		At
		Var   *Name
		Type  Type // nil if there is none
		In    Expr
		Perms *Perms
		Body  *Block
	}
	// FinishStmt is `finish:` with its statements. Without a suite these are the `@` statements
	// that follow at the same indentation.
	FinishStmt struct {
		At
		Body *Block
	}
	// OnStmt is `on e event [perms]: suite` or `on e event = lambda` (Handler is set,
	// Perms and Body nil).
	OnStmt struct {
		At
		Emitter Expr
		Event   *Name
		Perms   *Perms
		Body    *Block
		Handler *Lambda
	}
	// AwaitStmt is `x <- call within d [perms]`; Rest is the rest of the block, its callback.
	AwaitStmt struct {
		At
		Var    *Name // nil or "_" when the value is not used
		Call   Expr
		Within Expr // nil if there is none
		Perms  *Perms
		Rest   *Block
	}
	// IfStmt is if / else if / else; Else is a Block or another IfStmt.
	IfStmt struct {
		At
		Cond Expr
		Then *Block
		Else Stmt // *BlockStmt, *IfStmt or nil
	}
	// BlockStmt is a block as a statement: the else of an if.
	BlockStmt struct {
		At
		Body *Block
	}
	// WhileStmt is `while cond: suite`.
	WhileStmt struct {
		At
		Cond Expr
		Body *Block
	}
	// ForStmt is `for (init; cond; step): suite`.
	ForStmt struct {
		At
		Init Stmt // nil if there is none
		Cond Expr
		Step Stmt
		Body *Block
	}
	// ForInStmt is `for (x: T in e): suite`.
	ForInStmt struct {
		At
		Var  *Name
		Type Type // nil if there is none
		In   Expr
		Body *Block
	}
	// MatchStmt is `match e:` with arms.
	MatchStmt struct {
		At
		X    Expr
		Arms []*Arm
	}
	// ReturnStmt is `return e`.
	ReturnStmt struct {
		At
		X Expr // nil if there is none
	}
	// BreakStmt is `break`.
	BreakStmt struct{ At }
	// ContinueStmt is `continue`.
	ContinueStmt struct{ At }
	// PassStmt is `pass`.
	PassStmt struct{ At }
	// AssertStmt is `assert e` or `assert e, message`.
	AssertStmt struct {
		At
		X       Expr
		Message Expr
	}
	// FailStmt is `fail e`.
	FailStmt struct {
		At
		X Expr
	}
	// DeferStmt is `defer stmt` or `defer: suite`.
	DeferStmt struct {
		At
		Body *Block
	}
	// EmitStmt is `emit event(args)`.
	EmitStmt struct {
		At
		Event *Name
		Args  []*Arg
	}
)

func (*BadStmt) stmt()      {}
func (*DeclStmt) stmt()     {}
func (*ExprStmt) stmt()     {}
func (*AssignStmt) stmt()   {}
func (*TaskStmt) stmt()     {}
func (*TaskForStmt) stmt()  {}
func (*FinishStmt) stmt()   {}
func (*OnStmt) stmt()       {}
func (*AwaitStmt) stmt()    {}
func (*IfStmt) stmt()       {}
func (*BlockStmt) stmt()    {}
func (*WhileStmt) stmt()    {}
func (*ForStmt) stmt()      {}
func (*ForInStmt) stmt()    {}
func (*MatchStmt) stmt()    {}
func (*ReturnStmt) stmt()   {}
func (*BreakStmt) stmt()    {}
func (*ContinueStmt) stmt() {}
func (*PassStmt) stmt()     {}
func (*AssertStmt) stmt()   {}
func (*FailStmt) stmt()     {}
func (*DeferStmt) stmt()    {}
func (*EmitStmt) stmt()     {}

// Arm is `pattern: suite` of a match.
type Arm struct {
	At
	Pattern Pattern
	Body    *Block
}

// Pattern is the pattern of an arm.
type Pattern interface {
	Node
	pattern()
}

type (
	// CasePattern is `circle(r)`, `empty`, `some(v)`, `none`, `ok(v)`, `error(e)`; Path may name
	// the union too: `shape.circle(r)`. Names may be `_`.
	CasePattern struct {
		At
		Path  []*Name
		Names []*Name
		Bare  bool // no parentheses
	}
	// LitPattern is a constant: a number, a string, a character, true, a negated number.
	LitPattern struct {
		At
		X Expr
	}
	// AnyPattern is `_` or `else`.
	AnyPattern struct{ At }
)

func (*CasePattern) pattern() {}
func (*LitPattern) pattern()  {}
func (*AnyPattern) pattern()  {}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// LitKind is the kind of a literal.
type LitKind uint8

// The kinds of literals.
const (
	IntLit      LitKind = iota // 12, 0x1f, 0b101, 1_000, 20mib (Text keeps the unit)
	FloatLit                   // 1.5, 1e9
	CharLit                    // 'a', '\n'
	StringLit                  // "text"; Value is unquoted
	BoolLit                    // true, false
	NoneLit                    // none
	DurationLit                // 1s, 500ms, 10us, 2m, 1h, 1d
)

type (
	// BadExpr is text that could not be parsed; an error was reported for it.
	BadExpr struct{ At }
	// Ident is a name in an expression, `self` among them.
	Ident struct {
		At
		Name string
	}
	// Lit is a literal. Text is as in the source; Value is the unquoted text of strings and
	// characters.
	Lit struct {
		At
		Kind  LitKind
		Text  string
		Value string
	}
	// FString is f"text {x:.2} text".
	FString struct {
		At
		Parts []FPart
	}
	// ListLit is `[a, b, c]`.
	ListLit struct {
		At
		Elems []Expr
	}
	// TupleLit is `(a, b)`.
	TupleLit struct {
		At
		Elems []Expr
	}
	// Paren is `(e)`.
	Paren struct {
		At
		X Expr
	}
	// Unary is `-x`, `!x`, `~x`.
	Unary struct {
		At
		Op string
		X  Expr
	}
	// Binary is `x op y`; `a .. b` is a Binary with Op "..".
	Binary struct {
		At
		Op   string
		OpAt source.Span
		X, Y Expr
	}
	// ElseExpr is `e else d`.
	ElseExpr struct {
		At
		X, Default Expr
	}
	// Propagate is postfix `?`.
	Propagate struct {
		At
		X Expr
	}
	// Call is `f(a, b, max = 3)`. Named holds the callbacks of the form `call: NEWLINE name =
	// lambda`. TypeArgs are those of `f<int>(x)`, also of a type's construction `vector<int>()`.
	Call struct {
		At
		Fun   Expr
		Args  []*Arg
		Named []*Arg
	}
	// TypeExpr is a type with arguments or suffix used as an expression: vector<int>, float<32>.
	TypeExpr struct {
		At
		Type Type
	}
	// Selector is `x.name`; tuple elements are `x.0`.
	Selector struct {
		At
		X    Expr
		Name *Name
	}
	// Index is `x[i]`; i is a Binary ".." for a slice.
	Index struct {
		At
		X, I Expr
	}
	// Lambda is `perms (params) result: expr-or-suite`. Exactly one of X and Body is set.
	Lambda struct {
		At
		Perms  *Perms
		Params []*Param
		Result Type
		X      Expr
		Body   *Block
	}
)

func (*BadExpr) expr()   {}
func (*Ident) expr()     {}
func (*Lit) expr()       {}
func (*FString) expr()   {}
func (*ListLit) expr()   {}
func (*TupleLit) expr()  {}
func (*Paren) expr()     {}
func (*Unary) expr()     {}
func (*Binary) expr()    {}
func (*ElseExpr) expr()  {}
func (*Propagate) expr() {}
func (*Call) expr()      {}
func (*TypeExpr) expr()  {}
func (*Selector) expr()  {}
func (*Index) expr()     {}
func (*Lambda) expr()    {}

// Arg is an argument: `e` or `name = e`.
type Arg struct {
	At
	Name *Name // nil when positional
	X    Expr
}

// FPart is text, or an expression with its format, of an f-string.
type FPart struct {
	Text   string // unquoted, when X is nil
	X      Expr
	Format string // the part behind the colon: ".2", "05", "x"
}
