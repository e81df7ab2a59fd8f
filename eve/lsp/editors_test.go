package lsp

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool returns a program that this machine may lack.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIP: install %s to have it play with the server", from)
	}
	return path
}

// run runs a program and returns its output.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(name), err, out, stderr.String())
	}
	return string(out)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// build compiles the command eve into a folder.
func build(t *testing.T, dir string) string {
	t.Helper()
	eve := filepath.Join(dir, "eve")
	run(t, "", nil, "go", "build", "-o", eve, "interleave/cmd/eve")
	return eve
}

// VS Code's protocol library talks with the server. It is there when the extension was packed.
func TestVSCodeProtocol(t *testing.T) {
	node := tool(t, "node", "nodejs")
	modules := absolute(t, "../../out/vsix/extension/node_modules")
	if _, err := os.Stat(filepath.Join(modules, "vscode-languageserver-protocol")); err != nil {
		t.Skip("SKIP: run make vsix to have VS Code's protocol library talk with the server")
	}
	dir := write(t, map[string]string{
		"sum.eve": "main: [+stdout] () void:\n    count: int = 1\n    print(\"%d %d\", count, x)\n",
	})
	got := run(t, dir, []string{"NODE_PATH=" + modules}, node, absolute(t, "testdata/vscode.js"),
		build(t, dir), filepath.Join(dir, "sum.eve"))
	if want := "utf-16\nE0202\ncount: int\n2\n0\nexit 0\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The extension of VS Code starts the server, runs a file and its tests, and has every command that
// its manifest names.
func TestVSCodeExtension(t *testing.T) {
	node := tool(t, "node", "nodejs")
	got := run(t, "", nil, node, "testdata/extension.js",
		absolute(t, "../editors/vscode/extension.js"))
	want := `/opt/eve lsp
saved
run the till.eve: {"process":"/opt/eve","args":["run","/shop/the till.eve"]}
test the till.eve: {"process":"/opt/eve","args":["test","/shop/the till.eve"]}
Eve: open a file of Eve first.
stopped
/opt/eve lsp
stopped
eve.restart,eve.run,eve.test
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	content, err := os.ReadFile("../editors/vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Contributes struct {
			Commands []struct{ Command string }
		}
	}
	unmarshal(t, content, &manifest)
	var names []string
	for _, c := range manifest.Contributes.Commands {
		names = append(names, c.Command)
	}
	if list := strings.Join(names, ",") + "\n"; !strings.HasSuffix(want, list) {
		t.Errorf("the manifest has the commands %s", list)
	}
}

// Neovim, with the files that we ship, opens a program, shows its errors, applies a fix, renames
// and formats.
func TestNeovim(t *testing.T) {
	nvim := tool(t, "nvim", "neovim")
	dir := write(t, map[string]string{
		"sum.eve": "main: [+stdout] () void:\n  count:int=1\n  print(\"%d\", counf)\n",
	})
	eve := build(t, dir)
	home := []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir,
		"XDG_STATE_HOME=" + dir, "XDG_CACHE_HOME=" + dir}
	got := run(t, dir, home, nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n",
		"--cmd", "set runtimepath^="+absolute(t, "../editors/vim"),
		"--cmd", "let g:eve_path = '"+eve+"'",
		"--cmd", "filetype plugin on", "--cmd", "syntax on",
		"sum.eve", "-c", "luafile "+absolute(t, "testdata/neovim.lua"))
	want := `eveFunction eveType eveString
2:14 unknown name 'counf'; did you mean 'count'?
== Write count
main: [+stdout] () void:
  count:int=1
  print("%d", count)
== renamed
main: [+stdout] () void:
  total:int=1
  print("%d", total)
== formatted
main: [+stdout] () void:
    total: int = 1
    print("%d", total)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Emacs compiles our mode without a warning, colours and indents.
func TestEmacs(t *testing.T) {
	emacs := tool(t, "emacs", "emacs-nox")
	dir := t.TempDir()
	text, err := os.ReadFile("../editors/emacs/eve-mode.el")
	if err != nil {
		t.Fatal(err)
	}
	mode := filepath.Join(dir, "eve-mode.el")
	if err := os.WriteFile(mode, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, dir, []string{"HOME=" + dir}, emacs, "-Q", "--batch", "-L", dir,
		"--eval", "(setq byte-compile-error-on-warn t)",
		"--eval", "(unless (byte-compile-file \""+mode+"\") (kill-emacs 1))",
		"-l", absolute(t, "testdata/eve.el"))
	want := "(eve-mode font-lock-function-name-face font-lock-type-face font-lock-comment-face " +
		"font-lock-keyword-face default font-lock-constant-face)(4 nil)"
	if strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
