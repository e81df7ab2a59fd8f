package document

import (
	"flag"
	"os"
	"strings"
	"testing"

	"interleave/eve/source"
)

const sample = `# What a shop sells. It is read at the start.
#
# Prices are in cents.

import io.socket

# One thing on a shelf.
pub type thing:
    name: string              # as on the label
    price: int = 0
    # The price of n of them,
    # with the discount.
    total: [+self] (self, n: int) int:
        return self.price * n # no discount yet
    # "# no comment"
    mark: (self, text: string = "#") void:
        pass

pub union state:
    sold(when: int)           # to somebody
    # Nobody wants it.
    kept

hidden: () void:
    pass

# The largest price.
pub const most: int = 100_000

pub buy: <type T: copyable> [+a,
    =n] (a: T@, n: int) int:
    return n
test "prices":
    pass
`

func TestRead(t *testing.T) {
	m := Read("shop", source.NewFile("shop.eve", sample))
	want := `shop

What a shop sells. It is read at the start.

Prices are in cents.

pub type thing
    # One thing on a shelf.
    name: string
        # as on the label
    price: int = 0
    total: [+self] (self, n: int) int
        # The price of n of them, with the discount.
    mark: (self, text: string = "#") void
        # "# no comment"

pub union state
    sold(when: int)
        # to somebody
    kept
        # Nobody wants it.

pub const most: int = 100_000
    # The largest price.

pub buy: <type T: copyable> [+a,
    =n] (a: T@, n: int) int
`
	if got := (Found{m, m.Name, nil}).Text(0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWithoutPublic documents a program, whose declarations nobody imports, and texts that are no
// programs.
func TestWithoutPublic(t *testing.T) {
	m := Read("p", source.NewFile("p.eve", "# Adds.\nadd: (a: int) int:\n    return a\n"))
	if len(m.Items) != 1 || m.Items[0].About != "Adds." || m.About != "" {
		t.Errorf("got %+v", m)
	}
	for _, text := range []string{"", "#", "\n#\n\n", "pub", "pub type", "pub type a:\n  b",
		"pub union u:\n  ", "pub f: (", "\x00", "pub x: int = \"#"} {
		_ = Found{Read("x", source.NewFile("x.eve", text)), "x", nil}.Text(20)
	}
}

// TestLibrary holds that each module says what it is for, and that each name is found by its path.
func TestLibrary(t *testing.T) {
	all := Library()
	for _, m := range all {
		if m.sentence() == "" || len(m.Items) == 0 {
			t.Errorf("%s: about %q, %d items", m.Name, m.sentence(), len(m.Items))
		}
	}
	names := 0
	each(all, func(f Found) {
		names++
		hits := Find(all, f.Path)
		for _, h := range hits {
			if h.Path == f.Path && h.Item.Text == f.Item.Text {
				return
			}
		}
		t.Errorf("%s is not found: %v", f.Path, hits)
	})
	if names < 100 {
		t.Errorf("the library has %d names", names)
	}
	if list := List(all, 60); strings.Count(list, "\n") != len(all) ||
		!strings.Contains(list, "io.socket") {
		t.Errorf("the list is\n%s", list)
	}
}

func TestFind(t *testing.T) {
	all := Library()
	for name, path := range map[string]string{"io.socket": "io.socket", "print": "prelude.print",
		"http": "io.http", "read": "fs.read",
		"tcp_socket": "io.socket.tcp_socket", "io.socket.socket.write": "io.socket.socket.write",
		"tcp_socket.listen": "io.socket.tcp_socket.listen"} {
		found := Find(all, name)
		if len(found) == 0 || found[0].Path != path {
			t.Errorf("%s: %v, want %s", name, found, path)
		}
	}
	if found := Find(all, "nothing"); found != nil {
		t.Errorf("got %v", found)
	}
	for name, path := range map[string]string{"prnt": "prelude.print", "io.scoket": "io.socket",
		"shutdwon": "process.shutdown"} {
		if near := Similar(all, name); len(near) == 0 || near[0] != path {
			t.Errorf("near %s: %v, want %s", name, near, path)
		}
	}
	if near := Similar(all, "qqqqqqqqqqqq"); near != nil {
		t.Errorf("got %v", near)
	}
}

// TestHTML checks that nothing of a comment becomes markup, and that links have their targets.
func TestHTML(t *testing.T) {
	m := Read("shop", source.NewFile("shop.eve",
		"# <script>alert(1)</script> and `a < b`, and `open.\npub f: (x: vector<int>) void\n"))
	var b strings.Builder
	if err := HTML(&b, "A <title>", append(Library(), m)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<title>A &lt;title&gt;</title>", `id="shop.f"`,
		`href="#shop.f"`, "&lt;script&gt;alert(1)&lt;/script&gt; and <code>a &lt; b</code>, and " +
			"`open.", "vector&lt;int&gt;", `id="io.socket.socket.write"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "<script>alert") {
		t.Error("a comment became a script")
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// referencePage is the one about the language, with a table of the modules between two lines.
const referencePage, libraryPage = "../../docs/eve/reference.md", "../../docs/eve/library.md"

const tableBegins, tableEnds = "<!-- the modules: go test ./eve/document -update -->\n",
	"<!-- end of the modules -->\n"

// TestPages holds that the pages about the library say what the declarations say.
func TestPages(t *testing.T) {
	all := Library()
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, behind, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s lacks the line %q or %q", referencePage, tableBegins, tableEnds)
	}
	for _, p := range []struct{ file, want string }{
		{libraryPage, Markdown(Title, About, all)},
		{referencePage, before + tableBegins + Table(all, "library.md") + tableEnds + behind},
	} {
		got, err := os.ReadFile(p.file)
		switch {
		case err == nil && string(got) == p.want:
		case *update:
			if err := os.WriteFile(p.file, []byte(p.want), 0o644); err != nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Error(err)
		default:
			t.Errorf("%s is not what the declarations of eve/std say: "+
				"`go test ./eve/document -update` rewrites it", p.file)
		}
	}
}

// TestEveryDeclarationHasAComment: each has one of its own, or is in a group of constants that has
// one. What types have must be described in the prelude, whose types are part of the language.
func TestEveryDeclarationHasAComment(t *testing.T) {
	for _, m := range Library() {
		group := false // whether the group of constants has one
		for i, item := range m.Items {
			if !item.Joined || i == 0 {
				group = item.About != "" && !item.Behind
			}
			if item.About == "" && !(item.Joined && group) {
				t.Errorf("%s.%s has no comment", m.Name, item.Name)
			}
			for _, member := range item.Members {
				if m.Name == "prelude" && member.About == "" {
					t.Errorf("%s.%s.%s has no comment", m.Name, item.Name, member.Name)
				}
			}
		}
	}
}

// TestMarkdown checks the forms of paragraphs, and that no word of a comment becomes a mark.
func TestMarkdown(t *testing.T) {
	m := Read("shop", source.NewFile("shop.eve",
		"# Sells json.read<T> by <- and _x_, for $1 or ~2; a*b, \\w and `<b> *`."+`
#
#     a: int = 1
#       b
#
#     c
# And then:
# - one thing that is so long that it does not fit into one line of a page with a hundred columns,
#   is it
# - two

# Codes of errors.
pub const one: int = 1
pub const two: int = 2  # the second

# Another group.
pub const three: int = 3
pub const table: string = (
    "000" +
    "111")

# A type.
pub type thing:
    size: int             # its size
    # Where it is.
    place: (self) string
`))
	want := `# T
Sells json.read\<T> by <- and \_x\_, for \$1 or \~2; a\*b, \\w and ` + "`<b> *`" + `.

` + "```" + `
a: int = 1
  b

c
` + "```" + `

And then:

- one thing that is so long that it does not fit into one line of a page with a hundred columns, is
  it
- two

` + "```" + `
# Codes of errors.
pub const one: int = 1
pub const two: int = 2  # the second

# Another group.
pub const three: int = 3
pub const table: string

# A type.
pub type thing
    size: int  # its size
    # Where it is.
    place: (self) string
` + "```" + `
`
	if got := Markdown("T", "", []Module{m}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for text, want := range map[string]string{"# a": `\# a`, "- a": `\- a`, "1. a": `1\. a`,
		"1.5 a": "1.5 a", "-a": "-a", "#a": "#a"} {
		var b strings.Builder
		writeProse(&b, text, ofProse)
		if got := b.String(); got != want+"\n" {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
