package build

import (
	"context"
	"os"
	"strings"

	"interleave/eve/emit"
)

// readHeaders returns, for each unit that calls C, one text of all the headers that it includes
// and that are not the system's: a program is built again when one of them changes. Only these
// units cost a call of the compiler.
func (b *builder) readHeaders(ctx context.Context, units []emit.Unit) (map[string]string, error) {
	said := map[string]string{}
	for _, u := range units {
		if len(u.Headers) == 0 {
			continue
		}
		args := append(b.unitFlags(), "-MM", "-MT", "x", "-x", "c++")
		for _, h := range u.Headers {
			args = append(args, "-include", h)
		}
		rule, err := b.tools.run(ctx, append(args, os.DevNull)...)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // the compiler will report it for the program
		}
		var all strings.Builder
		for _, file := range prerequisites(rule) {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			all.Write(text)
		}
		said[u.Name] = key(all.String())
	}
	return said, nil
}

// prerequisites parses the files of a make rule: "x: a.h b.h \\". A blank in a name is written "\\
// ".
func prerequisites(rule string) (files []string) {
	_, list, _ := strings.Cut(rule, ":")
	list = strings.ReplaceAll(list, "\\\n", " ")
	list = strings.ReplaceAll(list, "\\ ", "\x00")
	for _, f := range strings.Fields(list) {
		if f = strings.ReplaceAll(f, "\x00", " "); f != os.DevNull {
			files = append(files, f)
		}
	}
	return files
}
