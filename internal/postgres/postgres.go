// Package postgres starts PostgreSQL servers for tests. Each has its own folder and port, and ends
// with its test. A test is skipped where PostgreSQL is not installed.
package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"interleave/internal/freeport"
)

// patience is a net: a server that takes longer never answers.
const patience = 5 * time.Minute

// A Server is a PostgreSQL server, which trusts everybody.
type Server struct {
	t       testing.TB
	program string // the folder of its programs
	dir     string
	port    int
	cmd     *exec.Cmd
	made    int // databases
}

// New makes one and starts it. PostgreSQL refuses to run as root: then it runs as the user of
// Debian's package.
func New(t testing.TB) *Server {
	t.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(programs) == 0 {
		t.Skip("SKIP: install postgresql for the tests with it")
	}
	slices.Sort(programs)
	dir, err := os.MkdirTemp("", "interleave-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{t: t, program: filepath.Dir(programs[len(programs)-1]), dir: dir,
		port: freeport.For(t)}
	if err := s.fill(); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// command is one of PostgreSQL's programs, with the right user; it dies with the tests.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.program, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() != 0 {
		return cmd
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(s.dir, uid, gid); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// Start starts it, again after Stop, and waits until it answers.
func (s *Server) Start() {
	s.cmd = s.command("postgres", "-D", s.dir, "-p", strconv.Itoa(s.port), "-c",
		"listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := s.tell("SELECT 1")
		if err == nil {
			return
		}
		if time.Now().After(until) {
			text, _ := os.ReadFile(log.Name())
			s.t.Fatalf("PostgreSQL does not answer: %v\n%s", err, text)
		}
	}
}

// Stop ends it at once, as a crash would: connections break.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // it may have been stopped already
	_ = s.cmd.Wait()
}

func (s *Server) tell(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

func (s *Server) url(name string) string {
	return fmt.Sprintf("postgres://tester@127.0.0.1:%d/%s", s.port, name)
}

// Database makes an empty one for a server, and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	if err := s.tell("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}
