package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// wgProgram is a program of its own: it is linked with wireguard-go, which the module of this
// command does not need.
const wgProgram = "gonet-wg"

var errNoWG = errors.New("the program gonet-wg is not installed: it is expected beside gonet, or " +
	"in PATH. `make install` installs both; in a checkout, `cd gonet/wireguard && GOWORK=off go " +
	"install ./cmd/gonet-wg` does")

func wgCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "wg CONF",
		Short: "a WireGuard tunnel from a file of wg-quick, without root: proxies and ports",
		Long: "Runs the program gonet-wg, which is installed beside gonet. " +
			"`gonet wg --help` prints its help.",
		Example: `  gonet wg wg0.conf
  curl --socks5-hostname 127.0.0.1:1080 http://10.0.0.1/    in another terminal`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := findWG()
			if err != nil {
				return err
			}
			return syscall.Exec(path, append([]string{wgProgram}, args...), os.Environ())
		},
	}
}

// findWG returns the path of gonet-wg: beside this program, or else in PATH.
func findWG() (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), wgProgram)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(wgProgram)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", errNoWG
	}
	return path, err
}
