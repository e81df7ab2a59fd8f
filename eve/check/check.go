// Package check turns the trees of modules into the typed program (package ir): it resolves names,
// types every expression, instantiates generics and reports type errors. It does not check
// permissions: package perm does.
//
// It works in two steps. The declarations come first: program.go reads modules, and decl.go
// records their names. The meaning of a name (its type, its signature) is determined at its first
// use. Bodies wait in a queue, since a body may need new instances of generics, whose bodies join
// the queue.
package check

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A Loader returns the file of a project's module by its dotted name; false when there is none. It
// is asked first: a module of the library is used when the project has none of that name.
type Loader func(module string) (*source.File, bool)

// Program checks main and all its imports. It always returns a program, which must not be run if
// diags has errors.
func Program(main *source.File, load Loader, diags *diag.List) *ir.Program {
	return newChecker(load, diags).program(main)
}

func newChecker(load Loader, diags *diag.List) *checker {
	return &checker{
		universe: types.NewUniverse(), diags: diags, load: load,
		modules: map[string]*module{}, instances: map[string]*ir.Func{},
		decls: map[*types.Type]*typeName{}, constraints: map[*types.Type]*types.Type{},
		opaque: map[*types.Type]bool{}, base: diags,
		signatures: map[string]*signature{}, checked: map[*ir.Func]bool{},
		circular: map[*typeName]bool{}, circles: map[*ir.Var]bool{},
		counted: map[whole]int{},
	}
}

// A checker holds one compilation.
type checker struct {
	universe  *types.Universe
	diags     *diag.List
	load      Loader
	prelude   *module
	main      *module
	modules   map[string]*module  // by id
	order     []*module           // in the order in which they were loaded
	instances map[string]*ir.Func // by ID
	queue     []func()            // bodies still to be checked

	decls       map[*types.Type]*typeName   // of named types
	constraints map[*types.Type]*types.Type // of type parameters with a constraint
	opaque      map[*types.Type]bool        // named types with a type parameter in their arguments
	signatures  map[string]*signature       // by the ID of the instance
	// variables whose value needs itself; reported already
	circles  map[*ir.Var]bool
	circular map[*typeName]bool // types that contain themselves; reported already
	checked  map[*ir.Func]bool  // generics that were checked as such, not as an instance
	counted  map[whole]int      // number of parts, by type
	depth    int                // of nested named types being filled
	late     []func()           // run when no named type is being filled
	current  *site              // of the generic instance whose body is being checked
	base     *diag.List         // the diagnostics; another list while an instance is checked
	loading  []*module          // modules being read, the innermost last
	started  bool               // all that main imports has been read
	index    *Index             // nil unless an editor asks for one
	only     source.Span        // bodies elsewhere are not checked; zero for a whole program
}

// A module is one file being checked.
type module struct {
	ir       *ir.Module
	tree     *syntax.File
	id       string // distinguishes modules: a project's module "math" is "./math", not std's
	std      bool
	loading  bool
	resolved bool
	partial  bool                   // an import of names failed
	names    map[string]object      // declared here
	imports  map[string]object      // module names of `import a.b` and `import a.b as x`
	opened   []*module              // by `import a.b.*`
	uses     []*module              // modules that must be initialised before it
	pub      map[string]bool        // public names
	places   map[string]source.Span // where names are declared
	pending  map[*ir.Var]*global    // globals and constants whose type is not determined yet
	tests    []*ir.Func
	unknown  map[unknownName]source.Span // names reported as unknown, where first
	// words of lines that could not be parsed: they may declare a missing name
	torn map[string]bool
}

// An object is the meaning of a name in a module: *function, *typeName, *ir.Var (global or
// constant), *module.
type object interface{}

// A function is the declaration of a function or method, from which instances are made.
type function struct {
	module *module
	tree   *syntax.Func
	owner  *typeName  // of a method; nil otherwise
	extern *ir.Extern // of a function of an extern block
}

// A typeName is the declaration of a type. One of structure and union is set; neither is for the
// types without a declaration (int, float, void). The built-in types of the prelude (string,
// vector) have a structure, which only declares their methods.
type typeName struct {
	module    *module
	name      string
	structure *syntax.TypeDecl
	union     *syntax.UnionDecl
	builtin   bool
	methods   map[string]*function
}

// An env is the meaning of type names in a declaration: its type parameters.
type env struct {
	module *module
	params map[string]*types.Type
	// opaque says that the parameters are types of their own: the generic itself is checked, not
	// an instance.
	opaque bool
	// iface, when set, is the interface whose declaration is being read. self is the meaning of
	// its name there.
	iface *typeName
	self  *types.Type
}
