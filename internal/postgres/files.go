package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// how are the arguments of initdb.
var how = []string{"-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}

// fill puts the files of a new server into its folder. initdb takes a second of CPU, so what it has
// made is kept, 40 MB, and copied for the next server.
func (s *Server) fill() error {
	kept := s.kept()
	if _, err := os.Stat(kept); err == nil {
		return copied(kept, s.dir)
	}
	initdb := s.command("initdb", append([]string{"-D", s.dir}, how...)...)
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if kept != "" {
		s.keep(kept)
	}
	return nil
}

// kept returns where the user's cache has the files of a new server, as these programs make them;
// empty if this user has no cache.
func (s *Server) kept() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, s.program, os.Geteuid(), os.Getenv("TZ"), how)
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(s.program, name))
		if err != nil {
			return ""
		}
		fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano()) // they change with a version
	}
	return filepath.Join(cache, "interleave", "postgres", hex.EncodeToString(h.Sum(nil)))
}

// keep keeps the files of a new server. If that fails, as on a full disk, initdb makes the next.
func (s *Server) keep(kept string) {
	all := filepath.Dir(kept)
	if os.MkdirAll(all, 0o755) != nil {
		return
	}
	part, err := os.MkdirTemp(all, "new-")
	if err != nil {
		return
	}
	defer os.RemoveAll(part)
	if whole := filepath.Join(part, "whole"); copied(s.dir, whole) == nil {
		_ = os.Rename(whole, kept) // or another test was quicker
	}
}

// copied copies a folder with its owner and permissions.
func copied(from, to string) error {
	if out, err := exec.Command("cp", "-aT", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying a new server of PostgreSQL: %w\n%s", err, out)
	}
	return nil
}
