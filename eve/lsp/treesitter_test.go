package lsp

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Neovim loads the tree-sitter parser and our queries, and finds no error in a program. The
// highlights are written one a line. It reads the queries of Helix as well.
func TestNeovimTreeSitter(t *testing.T) {
	nvim := tool(t, "nvim", "neovim")
	const script = "../editors/tree-sitter/build.sh"
	said, err := exec.CommandContext(t.Context(), script).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("SKIP: %s", said)
	} else if err != nil {
		t.Fatalf("build.sh: %v\n%s", err, said)
	}
	const program = `import io.socket
# Adds.
pub sum: [+all] (self, =n: int<8>) vector<T@>?:
    if n >= 0x1f && v.last(): return f"a\n{v[1]:.2}"
    match v:
        some(x): emit done(x, at = 1.5)
        else: x <- sleep(2s) within limit [+x]
    finish:
    @ [=n]: print('c', none, true)
`
	dir := write(t, map[string]string{"sum.eve": program})
	if err := os.Mkdir(filepath.Join(dir, "parser"), 0o700); err != nil {
		t.Fatal(err)
	}
	library := absolute(t, "../../out/tree-sitter/eve.so")
	if err := os.Symlink(library, filepath.Join(dir, "parser", "eve.so")); err != nil {
		t.Fatal(err)
	}
	home := []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir,
		"XDG_STATE_HOME=" + dir, "XDG_CACHE_HOME=" + dir}
	got := run(t, dir, home, nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n",
		"--cmd", "set runtimepath^="+absolute(t, "../editors/vim")+","+dir,
		"--cmd", "let g:eve_lsp = 0",
		"--cmd", "let g:helix = '"+absolute(t, "../editors/helix/queries/eve")+"'",
		"--cmd", "filetype plugin on", "--cmd", "syntax on",
		"sum.eve", "-c", "luafile "+absolute(t, "testdata/treesitter.lua"))
	want, err := os.ReadFile("testdata/treesitter.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
