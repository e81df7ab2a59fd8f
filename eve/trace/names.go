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

// plainTypes are the replacements that make the C++ name of a type one of Eve.
var plainTypes = strings.NewReplacer("eve::", "", "long int", "int", "unsigned char", "char",
	"double", "float", " >", ">", "__", ".")

var refType = regexp.MustCompile(`\bref<([^<>]*)>`)

// typeName is the name of the type of an object in Eve.
func typeName(pretty string) string {
	t := plainTypes.Replace(symbols.Argument(pretty))
	if t == "long" {
		return "int"
	}
	for refType.MatchString(t) {
		t = refType.ReplaceAllString(t, "$1@")
	}
	return strings.ReplaceAll(t, "vector<char>", "bytes")
}
