// Package ir is a checked Eve program: it is typed, every name is resolved, every body, capture
// and task is explicit, and generics are instantiated. The permission rules, the interpreter and
// the C++ emitter all read it.
//
// Shared objects appear as follows. A variable of type T@ holds a handle. Deref{x} is the object's
// value: a place that is read or written under the body's permission on x. Box{v} builds an
// object. So a permission is needed exactly at each Deref, on the object that its operand names.
package ir

import (
	"interleave/eve/source"
	"interleave/eve/types"
)

// A Program is all that one compilation needs to run.
type Program struct {
	Universe *types.Universe
	// in import order: a module comes after those it imports; std modules are among them
	Modules []*Module
	Main    *Func   // nil when the main module has no main
	Tests   []*Func // of the main module, in order of the text
}

// A Module is one file.
type Module struct {
	Name    string // "io.socket"; the main module's is its file name without .eve
	Std     bool
	Runtime string // the header of the runtime that implements its natives; empty without natives
	File    *source.File
	Globals []*Var // shared objects and constants, in order of initialisation
	Funcs   []*Func
	Named   []*types.Type // structs, unions and emitters declared here, each instance used
}

// A Func is a function, a method, a test, or one instance of a generic.
type Func struct {
	Name string // "transfer", "account.add"
	// distinct for all functions and instances of a program, stable between runs
	ID     string
	Module *Module
	Span   source.Span   // of the name
	Recv   *types.Type   // of a method: the type it belongs to; nil otherwise
	Static bool          // of a type, but without self: tcp_socket.listen
	Args   []*types.Type // type arguments of an instance
	Params []*Var        // self first; of a function for which Answers holds, answer last
	Result *types.Type
	Body   *Body  // nil for natives; its Perms are there in any case
	Native string // "socket.write", "vector.push", "process.shutdown"; empty when written in Eve
	Async  bool   // called by <-: its value, of type Result, comes later
	Test   string // of a test: its name
	Pub    bool
	Opaque bool     // a generic checked with opaque type parameters: for its errors only, never run
	List   []*Entry // the permission list; of natives too. Body.Perms is the same slice
	Extern *Extern  // nil unless declared in an extern block

	// Filled by package flow.
	Forks     bool // it, or what it calls, has a finish
	CanFail   bool // it, or what it calls, can fail
	Recursive bool // it may call itself, directly or not
}

// Answers says whether f is called by <- and written in Eve: its body has no result, and hands the
// value over by its last parameter, the callback `answer`.
func (f *Func) Answers() bool { return f.Async && f.Native == "" && f.Extern == nil }

// FakesTime says whether f is a test that begins with testing.fake_time().
func (f *Func) FakesTime() bool {
	if f.Test == "" || f.Body == nil || len(f.Body.Block.Stmts) == 0 {
		return false
	}
	do, is := f.Body.Block.Stmts[0].(*Do)
	if !is {
		return false
	}
	call, is := do.X.(*Call)
	return is && call.Fn.Name == "fake_time" && call.Fn.Module != nil && call.Fn.Module.Std &&
		call.Fn.Module.Name == "util.testing"
}

// An Extern says how to call a C function.
type Extern struct {
	Header string
	Slow   bool
}

// A BodyKind is the kind of a body, on which the rules depend.
type BodyKind uint8

// The kinds of bodies.
const (
	Function     BodyKind = iota
	Child                 // a task inside a finish
	Root                  // a detached task
	Handler               // of an event
	Continuation          // the statements behind x <- f()
	// <(A) R>: runs within the call that it is passed to, under its creator's permissions
	Lambda
	Callback // <(A) R>@: a root with its own list
)

// A Body is a piece of code with its own permission list (a Lambda has its creator's).
type Body struct {
	Kind   BodyKind
	Fn     *Func // that it belongs to
	Outer  *Body // around it; nil for functions
	Params []*Var
	Result *types.Type
	Perms  []*Entry
	// of the list with its brackets; empty, at the place where it would be inserted, if there is
	// none
	List  source.Span
	Head  source.Span // of the line that opens it: "@ [+a, =n]:", "on client data [clients]:"
	Block *Block

	// Handler: the emitter, under its name outside; the name is empty if it had none
	Emitter *Var
	Each    *Var // of a body made by `@ for`: the element. Its type is Shared, or Ref for a loan

	// Filled by package perm: a failure of this body can only damage emitters that it holds. Root,
	// Handler, Continuation, Callback only.
	Contained bool
}

// An Entry is one entry of a permission list.
type Entry struct {
	Sign byte // '+', '-', '=', '&', or 0: read
	Name string
	Span source.Span
	// inside the body: the parameter, the global, or the captured variable; nil after an error
	Var  *Var
	From *Var // outside the body; nil for parameters and globals
}

// A VarKind says where a variable comes from.
type VarKind uint8

// The kinds of variables.
const (
	Local    VarKind = iota // declared by a statement
	Param                   // of a function or closure
	Self                    // of a method: type T&
	Global                  // of a module: T@
	Constant                // of a module
	Capture                 // in a body, of an outer variable that its list names
	Emitter                 // in a handler: the emitter
	EventVar                // in a handler: the event, under the event's name or the parameter's
	Loop                    // of for, `@ for`
	Bound                   // by a pattern of match, or by <-
)

// A Var is a variable of one body: a captured variable is a separate Var in each body.
type Var struct {
	Name   string
	Type   *types.Type
	Kind   VarKind
	Body   *Body // that it belongs to; nil for globals and constants
	Span   source.Span
	From   *Var    // Capture, Emitter: the variable outside
	Sign   byte    // Capture: as in Entry
	Take   bool    // Param: `=x: T`, the argument is owned
	Module *Module // Global, Constant
	Init   Expr    // Global, Constant: its value. A Global's is of the object's type
	Pub    bool
	// Built: a Local of type T@ whose declaration builds its object: this body has full permission
	// on it.
	Built bool
	// View: a Local of a type with a view (slice, T&). It freezes the storage that it shows.
	View bool

	// Filled by package flow.
	// Built only: a handle to the object may outlive the variable or reach another root
	Escapes bool
	Index   int // free for use by interp and emit
}

// Place is the place and the type of an expression; expressions embed it.
type Place struct {
	T    *types.Type
	Span source.Span
}

// Type returns the expression's type.
func (p *Place) Type() *types.Type { return p.T }

// At returns the expression's place.
func (p *Place) At() source.Span { return p.Span }

// A Node is an expression, a statement, a *Block or a *Body.
type Node interface{ node() }

func (*Place) node() {}
func (*Mark) node()  {}
func (*Block) node() {}
func (*Body) node()  {}

// Expr is an expression. Places (Ref, Field, Element, Index, Deref and combinations of these)
// denote storage; used as values they are read.
type Expr interface {
	Node
	Type() *types.Type
	At() source.Span
}

// An Op is an operator of Unary, Binary or Assign, by its text: "+", "+%", "<<", "==",
// "&&", "-", "!", "~".
type Op string

type (
	// Const is a constant: int64 or uint64, float64, bool, string, or nil for none. Integer types
	// of any width use int64 (uint64 above its range), and so do Char and Duration.
	Const struct {
		Place
		Value any
	}
	// Zero is the zero value of its type.
	Zero struct{ Place }
	// Ref is a use of a variable. Var.Body differs from the body around only if the name was not
	// captured (package perm reports that) or the body is a Lambda.
	Ref struct {
		Place
		Var *Var
		// filled by flow: the last use of a variable that owns its value, which may be moved
		Move bool
	}
	// Deref is the value of a shared object: X has type T@ (or is a Ref variable of type T&).
	Deref struct {
		Place
		X Expr
	}
	// Box builds a shared object from the value X.
	Box struct {
		Place
		X Expr
	}
	// Field is a field of a struct: X is a place or value of it, never a handle.
	Field struct {
		Place
		X     Expr
		Index int
	}
	// Element is an element of a tuple.
	Element struct {
		Place
		X     Expr
		Index int
	}
	// Index is an element of vector, array, slice, map or string. That of a map fails when the key
	// is absent.
	Index struct {
		Place
		X, I Expr
	}
	// Cut is x[a..b]: a view of vector, array or slice, a string of a string. Lo and Hi may be nil.
	Cut struct {
		Place
		X, Lo, Hi Expr
	}
	// Range is a..b, without b.
	Range struct {
		Place
		Lo, Hi Expr
	}
	// Unary is -x, !x, ~x.
	Unary struct {
		Place
		Op Op
		X  Expr
	}
	// Binary is x op y with operands of one type (for shifts: any integer on the right), with &&
	// and ||. + joins strings, and bytes. == on handles does not occur: the native same compares
	// handles.
	Binary struct {
		Place
		Op   Op
		X, Y Expr
	}
	// Convert is an explicit or widening conversion between numbers, or char and string.
	Convert struct {
		Place
		X Expr
	}
	// Call calls a function, a method (self first) or a native. An argument is a place for a T&
	// parameter and for self, a handle for T@, and otherwise a value, which is lent, or owned if
	// the parameter takes it.
	Call struct {
		Place
		Fn   *Func
		Args []Expr
	}
	// CallValue calls a closure.
	CallValue struct {
		Place
		Fun  Expr
		Args []Expr
	}
	// Post calls a Callback, which runs later as a root of its own.
	Post struct {
		Place
		Fun  Expr
		Args []Expr
	}
	// Closure makes a Lambda or Callback.
	Closure struct {
		Place
		Body *Body
	}
	// MakeStruct has a value for each field, in order of declaration.
	MakeStruct struct {
		Place
		Fields []Expr
	}
	// MakeCase makes a value of a union.
	MakeCase struct {
		Place
		Case   int
		Fields []Expr
	}
	// MakeTuple makes a tuple.
	MakeTuple struct {
		Place
		Elems []Expr
	}
	// MakeList makes a vector, array or set of its elements, or a map of its (key, value) tuples.
	MakeList struct {
		Place
		Elems []Expr
	}
	// Wrap makes T? or T! of a T.
	Wrap struct {
		Place
		X Expr
	}
	// MakeError makes a T! of an error.
	MakeError struct {
		Place
		X Expr
	}
	// Propagate is x?: the value of an option or result, or a return from the function with the
	// none or the error.
	Propagate struct {
		Place
		X Expr
	}
	// Else is x else d: the value of an option or result, or d.
	Else struct {
		Place
		X, Default Expr
	}
	// Format makes a string from its parts.
	Format struct {
		Place
		Parts []FormatPart
	}
	// Copy is an explicit copy of a value that is not copied implicitly.
	Copy struct {
		Place
		X Expr
	}
)

// A FormatPart is literal text, or a value with its format.
type FormatPart struct {
	Text string // when X is nil
	X    Expr
	// Verb: 'v' by default, 'd', 'x', 'o', 'b', 'c', 's', 'f', 'e', 'g'. Width and Prec are -1
	// when not given.
	Verb        byte
	Width, Prec int
	ZeroPad     bool
	Left        bool
}

// A Block is a sequence of statements with a scope of its own.
type Block struct {
	Stmts []Stmt
	Span  source.Span
}

// Stmt is a statement.
type Stmt interface {
	Node
	At() source.Span
}

// Mark is the place of a statement; statements embed it.
type Mark struct{ Span source.Span }

// At returns the statement's place.
func (m *Mark) At() source.Span { return m.Span }

type (
	// Declare declares a local. Init is never nil: Zero stands for none. A Built
	// variable's Init is a Box.
	Declare struct {
		Mark
		Var  *Var
		Init Expr
	}
	// Unpack declares several locals of the elements of a tuple.
	Unpack struct {
		Mark
		Vars []*Var
		Init Expr
	}
	// Assign stores Value at Target; Op is "" for =, "+" for +=.
	Assign struct {
		Mark
		Target Expr
		Op     Op
		Value  Expr
	}
	// Repoint stores a handle in a field or element of type T@, which then names another object.
	Repoint struct {
		Mark
		Target Expr
		Value  Expr
	}
	// Do evaluates X for its effect.
	Do struct {
		Mark
		X Expr
	}
	// If is if, with or without else.
	If struct {
		Mark
		Cond Expr
		Then *Block
		Else *Block // nil if there is none
	}
	// Repeat is while and C's for: Cond (nil: true) runs before each turn, Step (nil: none) behind
	// it. Counted says that the checker proved that it terminates; other loops have a time budget.
	Repeat struct {
		Mark
		Init    *Block // declarations and assignments; nil if there are none
		Cond    Expr
		Step    Stmt
		Body    *Block
		Counted bool
	}
	// ForIn runs Body for each element of X: a range, vector, array, slice, string, set
	// (elements), or map ((key, value) tuples). A Var of type T& is the element in place.
	ForIn struct {
		Mark
		Var  *Var
		X    Expr
		Body *Block
	}
	// Match runs the first arm that matches. The checker has ensured that there is one.
	Match struct {
		Mark
		X    Expr
		Arms []*Arm
	}
	// Return returns; X is nil for void.
	Return struct {
		Mark
		X Expr
	}
	// Break leaves the innermost loop.
	Break struct{ Mark }
	// Continue goes on with the next turn.
	Continue struct{ Mark }
	// Assert fails the task when X is false, saying Message (may be nil) and the text of X. Without
	// a message it says the values of both sides of a comparison.
	Assert struct {
		Mark
		X       Expr
		Message Expr
	}
	// Fail fails the task with a text or an error.
	Fail struct {
		Mark
		X Expr
	}
	// Defer runs Block when the block around ends, after a failure too. The last Defer runs first.
	Defer struct {
		Mark
		Block *Block
	}
	// Spawn starts a task: a Child of the innermost Finish, or a Root.
	Spawn struct {
		Mark
		Body *Body
	}
	// SpawnEach starts a task for each element of X; Body.Each is the element.
	SpawnEach struct {
		Mark
		X    Expr
		Body *Body
	}
	// Finish runs Block and then waits for the children spawned in it.
	Finish struct {
		Mark
		Block *Block
		// Disjoint is filled by package flow. No two children that can run at once need one object
		// in conflict. All shared objects that they need were built in this function and are
		// distinct. So no queue is needed.
		Disjoint bool
	}
	// On registers a handler. Event is an event of the emitter's type.
	On struct {
		Mark
		Emitter Expr // of type T@, T an emitter
		Event   *types.Event
		Handler *Body
	}
	// Await calls an async function; Rest runs with the value, as a root, later.
	Await struct {
		Mark
		Call   *Call
		Within Expr // nil if there is none; else Var's type is a result
		Var    *Var // in Rest; nil when the value is not used
		Rest   *Body
	}
	// Emit emits an event of self.
	Emit struct {
		Mark
		Self  Expr
		Event *types.Event
		Value Expr // nil when the event's type is void
	}
	// Nest is a block as a statement.
	Nest struct {
		Mark
		Block *Block
	}
)

// An Arm of a match. Exactly one of the kinds of pattern is set.
type Arm struct {
	Span  source.Span
	Any   bool
	Const *Const
	// of a union, from 0; of an option: 0 none, 1 some; of a result: 0 error, 1 ok; -1 when it is
	// not a case
	Case int
	Vars []*Var // of the case's fields; nil where the pattern has _
	Body *Block
}

// Owner returns the body whose permissions b runs under: b itself, or the creator of a Lambda.
func (b *Body) Owner() *Body {
	for b != nil && b.Kind == Lambda && b.Outer != nil {
		b = b.Outer
	}
	return b
}

// Origin follows captures outwards, to the original variable.
func (v *Var) Origin() *Var {
	for v.From != nil {
		v = v.From
	}
	return v
}
