package build

import (
	"context"
	"os"
	"strings"

	"interleave/eve/emit"
)

// readHeaders gives, for each unit that calls C, one text of all the headers that it sees and that
// are not the system's: a program is made again when one of them has changed. Only such units pay
// for asking the compiler.
func readHeaders(ctx context.Context, tools *toolchain,
	units []emit.Unit) (map[string]string, error) {
	said := map[string]string{}
	for _, u := range units {
		if len(u.Headers) == 0 {
			continue
		}
		args := []string{"-MM", "-MT", "x", "-x", "c++"}
		for _, h := range u.Headers {
			args = append(args, "-include", h)
		}
		rule, err := tools.run(ctx, append(args, os.DevNull)...)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // the compiler says it again, of the program
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

// prerequisites are the files of a rule for make: "x: a.h b.h \\", where a blank in a name
// is written "\\ ".
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
