package emit

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/std"
	"interleave/eve/types"
)

// names are the C++ names of all things that are not local: module__name, module__type__method,
// followed by type arguments. Two underscores keep them apart from locals and from the names of C
// libraries.
type names struct {
	module map[*ir.Module]string
	fn     map[*ir.Func]string
	typ    map[*types.Type]string
	global map[*ir.Var]string
	taken  map[string]bool
}

func findNames(p *ir.Program) *names {
	n := &names{
		module: map[*ir.Module]string{}, fn: map[*ir.Func]string{}, typ: map[*types.Type]string{},
		global: map[*ir.Var]string{}, taken: map[string]bool{},
	}
	for _, m := range p.Modules {
		n.module[m] = n.free(word(m.Name), m.Name)
	}
	for _, m := range p.Modules {
		prefix := n.module[m] + "__"
		for _, t := range m.Named {
			if t.Def.Runtime != "" {
				n.typ[t] = runtimeSpace(m, t.Def.Runtime) + notKeyword(t.Name)
				continue
			}
			n.typ[t] = n.free(prefix+word(t.Name)+argsSuffix(t.Args), t.ID())
		}
		for _, v := range m.Globals {
			n.global[v] = n.globalName(m, v, prefix)
		}
		for i, f := range m.Funcs {
			name := word(f.Name)
			if f.Test != "" {
				name = "test" + strconv.Itoa(i)
			}
			n.fn[f] = n.free(prefix+name+argsSuffix(f.Args), f.ID)
		}
	}
	return n
}

// runtimeSpace is the namespace of a module's types that the runtime defines in a header: eve for
// what every program includes, eve::fs for the types of fs.
func runtimeSpace(m *ir.Module, header string) string {
	if header == std.Base {
		return "eve::"
	}
	return space(m)
}

// space is the namespace of what the runtime has for a module: eve::fs::, eve::db::sqlite::.
func space(m *ir.Module) string {
	return "eve::" + strings.ReplaceAll(m.Name, ".", "::") + "::"
}

func (n *names) globalName(m *ir.Module, v *ir.Var, prefix string) string {
	if !ofRuntime(v) {
		return n.free(prefix+word(v.Name), "global "+v.Name)
	}
	if m.Name == "prelude" {
		return "eve::the_" + v.Name
	}
	return space(m) + "the_" + v.Name
}

// free is name, followed by a hash of id if the name is taken.
func (n *names) free(name, id string) string {
	if n.taken[name] {
		h := fnv.New32a()
		h.Write([]byte(id))
		name = fmt.Sprintf("%s_%08x", name, h.Sum32())
	}
	for n.taken[name] {
		name += "x"
	}
	n.taken[name] = true
	return name
}

func argsSuffix(args []*types.Type) string {
	var b strings.Builder
	for _, t := range args {
		b.WriteString("__" + word(t.String()))
	}
	return b.String()
}

// word makes an identifier from any text: "account.add" is account__add, "vector<int>" vector_int.
func word(s string) string {
	s = strings.ReplaceAll(s, "__", "_0_")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '.':
			b.WriteString("__")
		case c == '@':
			b.WriteString("_shared")
		case c == '?':
			b.WriteString("_option")
		case c == '!':
			b.WriteString("_result")
		case c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			if b.Len() == 0 && c <= '9' {
				b.WriteByte('m')
			}
			b.WriteByte(c)
		case c == ' ' || c == '>' || c == '(' || c == ')' || c == '&':
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "m"
	}
	return b.String()
}

// notKeyword is name, followed by _ if it is a C++ keyword.
func notKeyword(name string) string {
	if keywords[name] {
		return name + "_"
	}
	return name
}

// keywords are C++'s, the macros that compilers define, and the names that generated functions
// use.
var keywords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`alignas alignof and and_eq asm atomic_cancel auto bitand bitor bool break case
		catch char char8_t char16_t char32_t class compl concept const consteval constexpr constinit const_cast continue
		co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern false
		float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
		private protected public register reinterpret_cast requires return short signed sizeof static static_assert
		static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using
		virtual void volatile wchar_t while xor xor_eq unix linux i386 eve main std errno NULL EOF stdin stdout stderr
		assert signals typeof INFINITY NAN`) {
		m[w] = true
	}
	return m
}()

// locals hands out the names of one C++ function. A name is free again when its block ends, so
// that the debugger shows most variables under their names in the text.
type locals struct {
	taken map[string]bool
	order []string
}

func newLocals(names ...string) *locals {
	l := &locals{taken: map[string]bool{}}
	for _, n := range names {
		l.taken[n] = true
	}
	return l
}

func (l *locals) name(want string) string {
	want = notKeyword(strings.ReplaceAll(want, "__", "_0_"))
	if want == "" || want == "_" {
		want = "unnamed"
	}
	name := want
	for i := 1; l.taken[name]; i++ {
		name = want + "_" + strconv.Itoa(i)
	}
	l.taken[name] = true
	l.order = append(l.order, name)
	return name
}

// open starts a block and close ends it.
func (l *locals) open() int { return len(l.order) }

func (l *locals) close(mark int) {
	for _, n := range l.order[mark:] {
		delete(l.taken, n)
	}
	l.order = l.order[:mark]
}
