// Package symbols finds the names and places of addresses in a compiled program: from its symbol
// table, and from debugging information, if it has any.
package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Table has the functions of a program.
type Table struct {
	functions []function // by address
	slide     uint64     // addresses in memory are larger by this
	lines     *dwarf.Data
	units     map[dwarf.Offset]*unit
}

type function struct {
	at, size uint64
	name     string // mangled
}

// runPrefix is how the symbol of the runtime's function run begins. Recordings have its address.
const runPrefix = "_ZN3eve3runE"

// Read reads the tables of a program. In memory its function eve::run was at `run`.
func Read(program string, run uint64) (*Table, error) {
	if info, err := os.Stat(program); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading the names in %s: it is no file", program)
	}
	file, err := os.Open(program)
	if err != nil {
		return nil, fmt.Errorf("reading the names in it: %w", err)
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the names in %s: %w", program, err)
	}
	all, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("reading the names in %s: %w", program, err)
	}
	t := &Table{units: map[dwarf.Offset]*unit{}}
	found := false
	for _, s := range all {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value == 0 {
			continue
		}
		if strings.HasPrefix(s.Name, runPrefix) && !strings.Contains(s.Name, ".cold") {
			t.slide, found = run-s.Value, true
		}
		t.functions = append(t.functions, function{s.Value, s.Size, s.Name})
	}
	if !found {
		return nil, fmt.Errorf("reading the names in %s: %w", program, errNotEve)
	}
	slices.SortStableFunc(t.functions, func(a, b function) int { return cmp.Compare(a.at, b.at) })
	if lines, err := f.DWARF(); err == nil { // without it there are no places
		t.lines = lines
	}
	return t, nil
}

var errNotEve = errors.New("it is no program of Eve, or was stripped")

// Function is the mangled name of the function at an address in memory; empty if there is none.
func (t *Table) Function(at uint64) string {
	at -= t.slide
	i, found := slices.BinarySearchFunc(t.functions, at,
		func(f function, at uint64) int { return cmp.Compare(f.at, at) })
	if !found {
		i--
	}
	if i < 0 || at >= t.functions[i].at+max(t.functions[i].size, 1) {
		return ""
	}
	return t.functions[i].name
}

// Place is the line of the text at an address in memory; line 0 if it is unknown.
func (t *Table) Place(at uint64) (file string, line int) {
	if t.lines == nil {
		return "", 0
	}
	at -= t.slide
	unit, err := t.lines.Reader().SeekPC(at)
	if err != nil {
		return "", 0
	}
	lines, err := t.lines.LineReader(unit)
	if err != nil || lines == nil {
		return "", 0
	}
	var e dwarf.LineEntry
	if lines.SeekPC(at, &e) != nil || e.File == nil {
		return "", 0
	}
	return e.File.Name, e.Line
}
