package interp

import (
	"fmt"
	"strings"

	"interleave/eve/types"
)

// sideSize is how much of a value the failure of an assertion shows, in bytes: fail.cpp cuts at
// the same place.
const sideSize = 400

// sideText is a value in the message of a failed assertion: a string stands in quotation marks,
// and a long text is cut.
func sideText(s string, t *types.Type) string {
	cut := ""
	if len(s) > sideSize {
		end := sideSize
		for end > 0 && !first(s[end]) {
			end--
		}
		s, cut = s[:end], "..."
	}
	if t != types.StringT {
		return s + cut
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"` + cut
}
