package symbols

import (
	"debug/dwarf"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Frame is a function on a stack. Calls that the compiler has inlined are frames, too.
type Frame struct {
	Name string // mangled; empty: unknown
	File string
	Line int // 0: unknown
}

// A unit is the code of one C++ text.
type unit struct {
	functions []*scope
	files     []*dwarf.LineFile
	eve       bool // it is a text of Eve
}

// A scope is a function, or an inlined call.
type scope struct {
	ranges   [][2]uint64
	name     string
	callFile int // of an inlined call: where it is
	callLine int
	inner    []*scope
}

// mostOrigins bounds the way from a call to the declaration that has its name.
const mostOrigins = 8

// Frames are those at an address in memory, the innermost first. There is at least one.
func (t *Table) Frames(at uint64) []Frame {
	file, line := t.Place(at)
	outer := Frame{t.Function(at), file, line}
	u := t.unit(at - t.slide)
	if u == nil {
		return []Frame{outer}
	}
	frames := []Frame{}
	for s := within(u.functions, at-t.slide); s != nil; {
		next := within(s.inner, at-t.slide)
		f := Frame{s.name, file, line}
		if next != nil {
			f.File, f.Line = u.file(next.callFile), next.callLine
		}
		frames = append(frames, f)
		s = next
	}
	if len(frames) == 0 {
		return []Frame{outer}
	}
	if outer.Name != "" { // that of a template has its arguments
		frames[0].Name = outer.Name
	}
	slices.Reverse(frames)
	return frames
}

func within(all []*scope, at uint64) *scope {
	for _, s := range all {
		for _, r := range s.ranges {
			if at >= r[0] && at < r[1] {
				return s
			}
		}
	}
	return nil
}

func (u *unit) file(i int) string {
	if i < 0 || i >= len(u.files) || u.files[i] == nil {
		return ""
	}
	return u.files[i].Name
}

// unit reads the debugging information about an address; nil if there is none.
func (t *Table) unit(at uint64) *unit {
	if t.lines == nil {
		return nil
	}
	r := t.lines.Reader()
	head, err := r.SeekPC(at)
	if err != nil {
		return nil
	}
	if u, known := t.units[head.Offset]; known {
		return u
	}
	u := &unit{}
	t.units[head.Offset] = u
	if lines, err := t.lines.LineReader(head); err == nil && lines != nil {
		var e dwarf.LineEntry
		for lines.Next(&e) == nil { // the table of files is whole only behind the last line
			continue
		}
		u.files = lines.Files()
	}
	u.eve = slices.ContainsFunc(u.files, func(f *dwarf.LineFile) bool {
		return f != nil && path.Ext(f.Name) == ".eve"
	})
	if head.Children {
		t.children(r, u, nil)
	}
	return u
}

// children reads the entries up to the end of those of one parent.
func (t *Table) children(r *dwarf.Reader, u *unit, in *scope) {
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return
		}
		inside := in
		switch e.Tag {
		case dwarf.TagSubprogram:
			inside = t.scope(e, u)
			u.functions = append(u.functions, inside)
		case dwarf.TagInlinedSubroutine:
			inside = t.scope(e, u)
			if in != nil {
				in.inner = append(in.inner, inside)
			}
		}
		if e.Children {
			t.children(r, u, inside)
		}
	}
}

// scope reads the entry of a function or call. A function that only its unit can call has no
// mangled name there, so it gets one.
func (t *Table) scope(e *dwarf.Entry, u *unit) *scope {
	s := &scope{name: t.nameOf(e, mostOrigins)}
	if u.eve && !strings.HasPrefix(s.name, "_Z") && strings.Index(s.name, "__") > 0 {
		s.name = fmt.Sprintf("_ZL%d%sv", len(s.name), s.name)
	}
	s.ranges, _ = t.lines.Ranges(e) // without any it is never found
	if n, ok := e.Val(dwarf.AttrCallFile).(int64); ok {
		s.callFile = int(n)
	}
	if n, ok := e.Val(dwarf.AttrCallLine).(int64); ok {
		s.callLine = int(n)
	}
	return s
}

// nameOf is the mangled name of an entry, if it has one, or of the declaration that it refers to.
func (t *Table) nameOf(e *dwarf.Entry, most int) string {
	if name, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
		return name
	}
	for _, attr := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		at, ok := e.Val(attr).(dwarf.Offset)
		if !ok || most == 0 {
			continue
		}
		r := t.lines.Reader()
		r.Seek(at)
		if origin, err := r.Next(); err == nil && origin != nil {
			if name := t.nameOf(origin, most-1); name != "" {
				return name
			}
		}
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	return name
}
