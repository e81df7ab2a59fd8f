package main

import (
	"flag"
	"os"
	"path/filepath"

	"interleave/eve/lsp"
	"interleave/internal/version"
)

// runLsp serves an editor over standard input and output.
func runLsp(c *call) error {
	err := c.parse(func(f *flag.FlagSet) {
		f.Bool("stdio", true, "use standard input and output; there is no other way")
	})
	if err != nil {
		return err
	}
	if len(c.args) > 0 {
		return usage("editors name the files")
	}
	o := lsp.Options{Version: version.String(), Log: c.stderr}
	if cache, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(cache, "eve")
	}
	code, err := lsp.Serve(c.ctx, c.stdin, c.stdout, o)
	if err == nil && code != 0 {
		return status(code)
	}
	return err
}
