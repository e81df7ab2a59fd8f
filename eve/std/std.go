// Package std holds the modules that come with Eve, as Eve text. Functions without a body are natives:
// the runtime and the interpreter make them.
package std

import (
	"embed"
	"strings"
)

//go:embed *.eve io/*.eve util/*.eve
var files embed.FS

// Text gives the text of a module, "io.socket", and the name under which diagnostics show it.
func Text(module string) (name, text string, ok bool) {
	path := strings.ReplaceAll(module, ".", "/") + ".eve"
	b, err := files.ReadFile(path)
	return "std/" + path, string(b), err == nil
}
