package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"interleave/internal/freeport"
	"interleave/internal/probe/probetest"
)

// A postgres is a PostgreSQL server of the tests, which ends with them.
type postgres struct {
	t       *testing.T
	program string
	dir     string
	port    int
	cmd     *exec.Cmd
	made    int // databases
}

// onPostgreSQL tests the models one after the other: they share a PostgreSQL server, which goes
// away and comes back.
func onPostgreSQL(t *testing.T, ask func(t *testing.T, m *probetest.Subject, database *postgres)) {
	database := newPostgres(t)
	each(t, asked(), func(t *testing.T, m *probetest.Subject) {
		if !*all && strings.HasSuffix(t.Name(), "/java-virtual") {
			t.Skip("-args -all asks it, too")
		}
		hurry(m)
		ask(t, m, database)
	})
}

// newPostgres makes one and starts it. PostgreSQL refuses to run as root: then it runs as the user
// of Debian's package.
func newPostgres(t *testing.T) *postgres {
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(programs) == 0 {
		t.Skip("SKIP: install postgresql for the tests of the services on it")
	}
	slices.Sort(programs)
	dir, err := os.MkdirTemp("", "images-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &postgres{t: t, program: filepath.Dir(programs[len(programs)-1]), dir: dir,
		port: freeport.For(t)}
	initdb := p.command("initdb", "-D", dir, "-U", "images", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	p.start()
	t.Cleanup(p.stop)
	return p
}

// command is one of PostgreSQL's programs, with the right user; it dies with the tests.
func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.program, name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() != 0 {
		return cmd
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		p.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(p.dir, uid, gid); err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// start starts it and waits until it answers.
func (p *postgres) start() {
	p.cmd = p.command("postgres", "-D", p.dir, "-p", strconv.Itoa(p.port), "-c",
		"listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := p.tell("SELECT 1")
		if err == nil {
			return
		}
		if time.Now().After(until) {
			text, _ := os.ReadFile(log.Name())
			p.t.Fatalf("PostgreSQL does not answer: %v\n%s", err, text)
		}
	}
}

// stop ends it at once, as a crash would: connections break.
func (p *postgres) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it may have been stopped already
	_ = p.cmd.Wait()
}

func (p *postgres) tell(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func (p *postgres) url(name string) string {
	return fmt.Sprintf("postgres://images@127.0.0.1:%d/%s", p.port, name)
}

// database makes an empty one for a server, and returns its URL.
func (p *postgres) database(t *testing.T) string {
	p.made++
	name := fmt.Sprintf("images%d", p.made)
	if err := p.tell("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}
