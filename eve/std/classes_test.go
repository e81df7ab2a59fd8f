package std_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"interleave/eve/std"
)

// util.unicode_classes has the general categories and the scripts of package unicode.
func TestUnicodeClasses(t *testing.T) {
	if unicode.Version != version {
		t.Skipf("package unicode has Unicode %s", unicode.Version)
	}
	want := classesModule(t)
	if *update {
		if err := os.WriteFile("util/unicode_classes.eve", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, got, _ := std.Text("util.unicode_classes"); got != want {
		t.Error("util/unicode_classes.eve differs: go test ./eve/std -update rewrites it")
	}
}

func classesModule(t *testing.T) string {
	categories := []string{}
	for name := range unicode.Categories {
		if len(name) == 2 && name != "LC" {
			categories = append(categories, name)
		}
	}
	slices.Sort(categories)
	scripts := slices.Sorted(maps.Keys(unicode.Scripts))
	aliases := []string{}
	for name, category := range unicode.CategoryAliases {
		aliases = append(aliases, plainName(name)+"="+plainName(category))
	}
	slices.Sort(aliases)

	var b strings.Builder
	b.WriteString("# The general categories and the scripts of characters of Unicode " + version +
		".\n# A record is where a range begins, in four digits, and its class, in two. The range " +
		"ends where\n# the next one begins." + digitsText)
	b.WriteString("\n# General categories, which are the elements of category_names.\n")
	writeTable(&b, "categories", classRecords(t, unicode.Categories, categories, ""))
	b.WriteString("\n# Scripts, which are the elements of script_names; the first one is none.\n")
	writeTable(&b, "scripts",
		classRecords(t, unicode.Scripts, append([]string{""}, scripts...), "none"))
	writeWords(&b, "category_names", "Names of general categories.", categories)
	writeWords(&b, "script_names", "Names of scripts, with an empty one before them.",
		append([]string{""}, scripts...))
	writeWords(&b, "aliases", "Other names of general categories, with the name above.", aliases)
	return strings.Replace(b.String(), "Code points have three digits. eve/std/forms_test.go",
		"eve/std/classes_test.go", 1)
}

// classRecords has a record for each run of characters of one class. Every character is of just one
// of them; of the first, whose table is not looked at, if it is of no other and absent is given.
func classRecords(t *testing.T, tables map[string]*unicode.RangeTable, names []string,
	absent string) (records []string) {
	classes := make([]int, unicode.MaxRune+1)
	for i, name := range names {
		if i == 0 && absent != "" {
			continue
		}
		for r := range runesOf(tables[name]) {
			if classes[r] != 0 {
				t.Fatalf("%U is %s and %s", r, names[classes[r]-1], name)
			}
			classes[r] = i + 1
		}
	}
	for r, class := range classes {
		if class == 0 && absent == "" {
			t.Fatalf("%U is of no class", r)
		}
		if r == 0 || class != classes[r-1] {
			records = append(records, digits(r, 4)+digits(max(class-1, 0), 2))
		}
	}
	return records
}

// runesOf are the characters of a table.
func runesOf(table *unicode.RangeTable) func(func(rune) bool) {
	return func(yield func(rune) bool) {
		for _, r := range table.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if !yield(c) {
					return
				}
			}
		}
		for _, r := range table.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// plainName is a name as util.classes compares it.
func plainName(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// writeWords writes a constant with words, separated by blanks.
func writeWords(b *strings.Builder, name, about string, words []string) {
	var lines []string
	line := ""
	for i, word := range words {
		word = plainName(word)
		if i+1 < len(words) {
			word += " "
		}
		if len(line)+len(word) > 88 {
			lines, line = append(lines, line), ""
		}
		line += word
	}
	fmt.Fprintf(b, "\n# %s\npub const %s: string = (\n", about, name)
	for _, l := range append(lines, line) {
		fmt.Fprintf(b, "    \"%s\" +\n", l)
	}
	s := strings.TrimSuffix(b.String(), " +\n") + ")\n"
	b.Reset()
	b.WriteString(s)
}
