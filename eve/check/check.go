// Package check makes the typed program (package ir) of the trees of its modules: it resolves names,
// types every expression, instantiates generics and reports what does not fit. Permissions are not its
// business: package perm judges what it makes.
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

// Program checks main and all that it imports. The program is always there; it is only to be run when
// diags has no errors.
func Program(main *source.File, load Loader, diags *diag.List) *ir.Program {
	c := &checker{
		universe: types.NewUniverse(), diags: diags, load: load,
		modules: map[string]*module{}, instances: map[string]*ir.Func{},
	}
	return c.program(main)
}

// A checker holds one compilation.
type checker struct {
	universe  *types.Universe
	diags     *diag.List
	load      Loader
	prelude   *module
	modules   map[string]*module  // by dotted name
	order     []*module           // in import order
	instances map[string]*ir.Func // by ID
	queue     []func()            // bodies still to be checked
}

// A module is one file being checked.
type module struct {
	ir      *ir.Module
	tree    *syntax.File
	names   map[string]object // declared here
	imports map[string]object // module names, and what `import a.b.*` brings
}

// An object is what a name of a module stands for: *function, *typeName, *ir.Var (global or constant), *module.
type object interface{}

// A function is the declaration of a function or method, from which instances are made.
type function struct {
	module *module
	tree   *syntax.Func
	owner  *typeName // of a method; nil otherwise
}

// A typeName is the declaration of a type: exactly one of structure and union is set.
type typeName struct {
	module    *module
	structure *syntax.TypeDecl
	union     *syntax.UnionDecl
	methods   map[string]*function
}

// An env is what type names mean in a declaration: its type parameters.
type env struct {
	module *module
	params map[string]*types.Type
	// opaque says that the parameters stand for themselves: a generic is checked for its own sake.
	opaque bool
}
