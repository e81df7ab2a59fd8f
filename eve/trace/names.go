package trace

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"interleave/eve/symbols"
)

// A Code is the code of a task or handler in the program.
type Code struct {
	Name string // "chat.main, on data"
	File string // empty: unknown
	Line int
}

// Place is "chat.eve:12"; empty if it is unknown.
func (c *Code) Place() string {
	if c.File == "" {
		return ""
	}
	return path.Base(c.File) + ":" + strconv.Itoa(c.Line)
}

// behindEquals is the type in the compiler's name of a template function: "... [with F = T; ..]".
func behindEquals(pretty string) string {
	_, rest, found := strings.Cut(pretty, " = ")
	if !found {
		return pretty
	}
	depth := 0
	for i := range len(rest) {
		switch rest[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', '}':
			depth--
		case ']':
			if depth--; depth < 0 {
				return rest[:i]
			}
		case ';':
			if depth <= 0 {
				return rest[:i]
			}
		}
	}
	return rest
}

// codeName is the name of a body as a reader of the program knows it.
func codeName(pretty string) string {
	f := behindEquals(pretty)
	switch {
	case strings.HasPrefix(f, "start_("):
		return "main"
	case strings.HasPrefix(f, "eve::run("), strings.HasPrefix(f, "run("):
		return "start of the program"
	case strings.HasPrefix(f, "eve::"), strings.Contains(f, "::"):
		return "the runtime"
	}
	return symbols.Words(f)
}

// plainTypes are the replacements that make the C++ name of a type one of Eve.
var plainTypes = strings.NewReplacer("eve::", "", "long int", "int", "unsigned char", "char",
	"double", "float", " >", ">", "__", ".")

var refType = regexp.MustCompile(`\bref<([^<>]*)>`)

// typeName is the name of the type of an object in Eve.
func typeName(pretty string) string {
	t := plainTypes.Replace(behindEquals(pretty))
	if t == "long" {
		return "int"
	}
	for refType.MatchString(t) {
		t = refType.ReplaceAllString(t, "$1@")
	}
	return strings.ReplaceAll(t, "vector<char>", "bytes")
}
