// Package check makes the typed program (package ir) of the trees of its modules: it resolves
// names, types every expression, instantiates generics and reports what does not fit. Permissions
// are not its business: package perm judges what it makes.
//
// It works in two steps. Declarations come first: program.go reads modules, decl.go notes their
// names, and what a name means (its type, its signature) is found when somebody asks. Bodies wait
// in a queue, for they may ask for new instances of generics, whose bodies join the queue.
package check

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A Loader gives the file of a module by its dotted name, false when there is none. It is asked for
// modules that std does not have.
type Loader func(module string) (*source.File, bool)

// Program checks main and all that it imports. The program is always there; it is only to be run
// when diags has no errors.
func Program(main *source.File, load Loader, diags *diag.List) *ir.Program {
	c := &checker{
		universe: types.NewUniverse(), diags: diags, load: load,
		modules: map[string]*module{}, instances: map[string]*ir.Func{},
		decls: map[*types.Type]*typeName{}, constraints: map[*types.Type]*types.Type{},
		opaque: map[*types.Type]bool{}, base: diags,
		signatures: map[string]*signature{}, checked: map[*ir.Func]bool{},
		circular: map[*typeName]bool{}, circles: map[*ir.Var]bool{},
		counted: map[whole]int{},
	}
	return c.program(main)
}

// A checker holds one compilation.
type checker struct {
	universe  *types.Universe
	diags     *diag.List
	load      Loader
	prelude   *module
	main      *module
	modules   map[string]*module  // by dotted name
	order     []*module           // in the order in which they were loaded
	instances map[string]*ir.Func // by ID
	queue     []func()            // bodies still to be checked

	decls       map[*types.Type]*typeName   // of named types
	constraints map[*types.Type]*types.Type // of type parameters that have one
	opaque      map[*types.Type]bool        // named types with a type parameter in their arguments
	signatures  map[string]*signature       // by the ID of the instance
	// variables whose value needs itself, which was reported
	circles  map[*ir.Var]bool
	circular map[*typeName]bool // types that hold themselves, which was reported
	checked  map[*ir.Func]bool  // generics checked for their own sake
	counted  map[whole]int      // the parts of types
	depth    int                // of named types being filled
	late     []func()           // what waits until no named type is being filled
	current  *site              // of the generic instance whose body is being checked
	base     *diag.List         // diags, but while an instance is checked
	loading  []*module          // being read, the innermost last
	started  bool               // all that main imports has been read
}

// A module is one file being checked.
type module struct {
	ir       *ir.Module
	tree     *syntax.File
	id       string // tells modules apart: a project's module "math" is not std's
	std      bool
	loading  bool
	resolved bool
	partial  bool                   // an import that brings names failed
	names    map[string]object      // declared here
	imports  map[string]object      // module names: of `import a.b` and `import a.b as x`
	opened   []*module              // by `import a.b.*`
	uses     []*module              // all that must be initialised before it
	pub      map[string]bool        // of names
	places   map[string]source.Span // where names are declared
	pending  map[*ir.Var]*global    // globals and constants whose type has not been asked for yet
	tests    []*ir.Func
	unknown  map[unknownName]source.Span // names reported, where first
	// words of lines that could not be read: they may declare what is missed
	torn map[string]bool
}

// An object is what a name of a module stands for: *function, *typeName, *ir.Var (global or
// constant), *module.
type object interface{}

// A function is the declaration of a function or method, from which instances are made.
type function struct {
	module *module
	tree   *syntax.Func
	owner  *typeName  // of a method; nil otherwise
	extern *ir.Extern // of a function of an extern block
}

// A typeName is the declaration of a type: one of structure and union is set, none for the types
// that have no declaration (int, float, void). The types of the prelude that are built in (string,
// vector) have a structure, which only gives their methods.
type typeName struct {
	module    *module
	name      string
	structure *syntax.TypeDecl
	union     *syntax.UnionDecl
	builtin   bool
	methods   map[string]*function
}

// An env is what type names mean in a declaration: its type parameters.
type env struct {
	module *module
	params map[string]*types.Type
	// opaque says that the parameters stand for themselves: a generic is checked for its own sake.
	opaque bool
	// iface, when set, is the interface whose declaration is read, and self what it
	// stands for there.
	iface *typeName
	self  *types.Type
}
