package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"interleave/eve"
)

// The script reaches gdb in two ways. Every program with debugging information has it in its
// section .debug_gdb_scripts, which gdb runs by itself for programs in its auto-load safe-path;
// `eve gdb` adds the program to that path. The script is also in the cache as gdb.py, for `gdb
// -iex "source ~/.cache/eve/gdb.py"`.

const gdbObject = "gdb.o"

// compileGdb makes the object with the section, and writes the script to the cache.
func (b *builder) compileGdb(ctx context.Context, dir string) error {
	script := eve.RuntimeFiles()["gdb.py"]
	source := filepath.Join(dir, "gdb_script.cpp")
	if err := os.WriteFile(source, []byte(gdbSection(string(script))), 0o644); err != nil {
		return fmt.Errorf("preparing the runtime: %w", err)
	}
	args := append(b.o.runtimeFlags(), "-c", source, "-o", filepath.Join(dir, gdbObject))
	if said, err := b.tools.run(ctx, args...); err != nil {
		return fmt.Errorf("preparing the runtime: %w\n%s", err, said)
	}
	os.Remove(source)
	return b.cache.create(filepath.Join(b.cache.dir, "gdb.py"), func(tmp string) error {
		return os.WriteFile(tmp, script, 0o644)
	})
}

// gdbSection writes the script as an entry of .debug_gdb_scripts: a byte 4 for Python text, a name,
// a new line, the text, a zero byte (gdb manual, "Auto-loading extensions", dotdebug_gdb_scripts).
func gdbSection(script string) string {
	var b strings.Builder
	b.WriteString(`asm(".pushsection \".debug_gdb_scripts\", \"MS\",@progbits,1\n"` + "\n")
	b.WriteString(`    ".byte 4\n"` + "\n")
	for line := range strings.Lines("eve\n" + script) {
		b.WriteString(`    ".ascii \"`)
		for i := 0; i < len(line); i++ {
			// Octal for the assembler, with one backslash escaped for C++.
			fmt.Fprintf(&b, `\\%03o`, line[i])
		}
		b.WriteString(`\"\n"` + "\n")
	}
	b.WriteString(`    ".byte 0\n.popsection\n");` + "\n")
	return b.String()
}
