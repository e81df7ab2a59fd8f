package servers_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A sqlShell is testdata/server/sqlite.eve under way: it obeys commands.
type sqlShell struct {
	*process
	in    io.WriteCloser
	lines *bufio.Reader
	dir   string // of the database: left out of what it says
}

// newSQLShell starts it on a database, with the longest wait in milliseconds.
func newSQLShell(t *testing.T, exe, file string, wait int, how string) *sqlShell {
	t.Helper()
	return sqlShellOf(t, exec.Command(exe, file, fmt.Sprint(wait), how), filepath.Dir(file)+"/")
}

// sqlShellOf starts a command that is one. What it says, it says without `dir`.
func sqlShellOf(t *testing.T, cmd *exec.Cmd, dir string) *sqlShell {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, far, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	cmd.Stdout = far
	s := &sqlShell{process: begin(t, cmd, "EVE_WORKERS=2"), in: in,
		lines: bufio.NewReader(out), dir: dir}
	far.Close()
	return s
}

// openSQLShell starts it, and waits until the database is open.
func openSQLShell(t *testing.T, exe, file string, wait int, how ...string) *sqlShell {
	t.Helper()
	s := newSQLShell(t, exe, file, wait, strings.Join(how, ""))
	if got := s.hear(); got != "done" {
		t.Fatalf("opening %s: %q", file, got)
	}
	return s
}

// tell sends a command.
func (s *sqlShell) tell(words ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, strings.Join(words, "\t")+"\n"); err != nil {
		s.t.Fatalf("%v: %s", err, s.err.String())
	}
}

// hear returns the next answer: its lines, joined by a semicolon.
func (s *sqlShell) hear() string {
	s.t.Helper()
	var all []string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%v behind %q: %s", err, all, s.err.String())
		}
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), s.dir, "")
		all = append(all, line)
		kind, _, _ := strings.Cut(line, " ")
		if slices.Contains([]string{"done", "error", "changed", "rows"}, kind) ||
			strings.Contains(line, " | ") {
			return strings.Join(all, "; ")
		}
	}
}

func (s *sqlShell) ask(words ...string) string {
	s.t.Helper()
	s.tell(words...)
	return s.hear()
}

func (s *sqlShell) must(want string, words ...string) {
	s.t.Helper()
	if got := s.ask(words...); got != want {
		s.t.Errorf("%q:\ngot  %s\nwant %s", words, got, want)
	}
}

// leave ends it, and checks that all is well.
func (s *sqlShell) leave() {
	s.t.Helper()
	s.in.Close()
	s.mustExit(0)
	if got := s.err.String(); got != "" {
		s.t.Errorf("it said %q", got)
	}
}

func text(s string) string { return "t:" + hex.EncodeToString([]byte(s)) }

// Statements, values of every class, and what is wrong with a statement.
func TestSqliteStatements(t *testing.T) {
	t.Parallel()
	exe := example(t, "sqlite")
	for _, file := range []string{"memory", filepath.Join(t.TempDir(), "a.db")} {
		s := openSQLShell(t, exe, file, 60000)
		shown := strings.Replace(filepath.Base(file), "memory", ":memory:", 1)
		failed := func(what, code, why string, words ...string) {
			t.Helper()
			s.must(fmt.Sprintf("error %s %s %s: %s", code, what, shown, why), words...)
		}
		s.must("done", "script", "/* a schema */ create table t (x integer primary key, y); "+
			"create table u (x references t) ;; ")
		s.must("changed 1", "run", "insert into t values (?, ?)", "i:1", text("one"))
		s.must("changed 2", "run", "insert into t values (2, :a), (3, :a)", "r:0.5")
		s.must("rows 0", "query", "select * from t where y = ?", text("none"))
		s.must("x=i:1 y=t:6f6e65; x=i:2 y=r:0.5; x=i:3 y=r:0.5; rows 3", "query",
			"select * from t order by x")
		s.must("x=i:4; rows 1", "returning", "insert into t (y) values (?) returning x", "b:00ff")
		s.must("a=i:-9223372036854775808 b=i:9223372036854775807 c=n: d=b: e=t: f=b:00ff; rows 1",
			"query", "select ? as a, ? as b, ? as c, ? as d, ? as e, "+
				"(select y from t where x = 4) as f", "i:-9223372036854775808",
			"i:9223372036854775807", "n:", "b:", "t:")
		s.must("changed 0", "run", "create table v (x)")
		s.must("changed 4", "run", "update t set y = null")
		s.must("changed 0", "run", "pragma user_version = 7")
		s.must("changed 3", "all", "insert into v values (1), (2)", "delete from v where x = 1")

		failed("run", "1555", "UNIQUE constraint failed: t.x", "run",
			"insert into t values (1, 2)")
		failed("run", "787", "FOREIGN KEY constraint failed", "run", "insert into u values (99)")
		failed("query", "1", `near "selec": syntax error`, "query", "selec 1")
		failed("query", "1", "no such table: w", "query", "select * from w")
		if got := s.ask("query", `select "one"`); !strings.HasPrefix(got, "error 1 query ") {
			t.Errorf("a text in double quotes: %s", got)
		}
		failed("query", "8", "this statement writes: use run or returning", "query",
			"delete from t")
		failed("query", "18", "there are more than 5 rows", "query",
			"select * from (values (1), (2), (3), (4), (5), (6))")
		failed("run", "25", "the statement has 1 parameter, not 0", "run",
			"delete from t where x = ?")
		failed("run", "25", "the statement has 0 parameters, not 2", "run", "delete from t", "n:",
			"n:")
		failed("run", "21", "there is no statement", "run", " -- nothing")
		failed("run", "21", "there is no statement", "run", "")
		failed("run", "21", "this is more than one statement", "run",
			"delete from t; delete from t")
		failed("run", "21", "this is more than one statement", "run", "delete from t; nonsense")
		s.must("changed 4", "run", "delete from t; /* behind it */ ;")
		failed("run", "21", "there is a zero byte in the statement", "run",
			"delete from v\x00 where")
		failed("script", "21", "there is a zero byte in the script", "script", "delete from v\x00")
		failed("script", "25", "a script has no parameters", "script", "delete from v where x = ?")
		for _, sql := range []string{"begin", "commit", "rollback", "savepoint a", "release a"} {
			failed("run", "23", "begin, commit, rollback and savepoint are no statements here",
				"run", sql)
		}
		// all or nothing
		failed("script", "1", "no such table: w", "script", "delete from v; delete from w")
		failed("run_all", "1", "no such table: w", "all", "delete from v", "delete from w")
		s.must("n=i:1; rows 1", "query", "select count(*) as n from v")

		s.must("1 | 1 | column x is integer, not text | false | integer", "take",
			"select 1 as x", "x")
		s.must("column x is real, not integer | 1.5 | column x is real, not text | false | real",
			"take", "select 1.5 as x", "x")
		s.must("column x is null, not integer | column x is null, not real | "+
			"column x is null, not text | true | null", "take", "select null as x", "x")
		s.must("there is no column y | there is no column y | there is no column y | "+
			"there is no column y | there is no column y", "take", "select 1 as x", "y")
		for i := range 200 { // each twice, and more than stay prepared
			s.must(fmt.Sprintf("x=i:%d; rows 1", i%100), "query",
				fmt.Sprintf("select %d as x", i%100))
		}
		s.must("done", "close")
		failed("query", "21", "the database is closed", "query", "select 1")
		failed("begin", "21", "the database is closed", "begin")
		failed("script", "21", "the database is closed", "script", "select 1")
		failed("close", "21", "the database is closed", "close")
		s.leave()
	}
}

// A transaction keeps the turn until it has ended: by commit, by rollback, or with its last handle.
func TestSqliteTransactions(t *testing.T) {
	t.Parallel()
	exe, file := example(t, "sqlite"), filepath.Join(t.TempDir(), "a.db")
	s := openSQLShell(t, exe, file, 300)
	s.must("done", "script", "create table t (x integer primary key, y)")
	s.must("done", "begin")
	s.must("error 5 query a.db: its turn has not come", "query", "select count(*) as n from t")
	s.must("error 5 begin a.db: its turn has not come", "begin")
	s.must("changed 1", "t-run", "insert into t values (1, ?)", text("a"))
	s.must("done", "commit")
	s.leave()

	s = openSQLShell(t, exe, file, 600000)
	s.mustCount(1)
	s.must("done", "begin")
	s.must("changed 1", "t-run", "insert into t values (2, ?)", text("b"))
	s.must("n=i:2; rows 1", "t-query", "select count(*) as n from t")
	s.must("error 1555 run a.db: UNIQUE constraint failed: t.x", "t-run",
		"insert into t values (1, 2)")
	s.must("error 8 query a.db: this statement writes: use run or returning", "t-query",
		"delete from t")
	s.must("error 23 run a.db: begin, commit, rollback and savepoint are no statements here",
		"t-run", "commit")
	s.must("x=i:3; rows 1", "t-returning", "insert into t values (3, 4) returning x")
	s.must("done", "commit")
	for _, what := range []string{"commit", "rollback", "run"} {
		s.must("error 21 "+what+" a.db: the transaction has ended",
			strings.Replace(what, "run", "t-run", 1), "delete from t")
	}
	s.mustCount(3)
	for _, end := range []string{"rollback", "drop"} {
		s.must("done", "begin")
		s.must("changed 3", "t-run", "delete from t")
		s.must("done", end)
		s.mustCount(3)
	}
	// what waits gets its turn
	s.must("done", "begin")
	s.must("changed 3", "t-run", "delete from t")
	s.tell("query", "select count(*) as n from t")
	s.tell("run", "insert into t values (7, 8)")
	s.tell("commit")
	var got []string
	for range 3 {
		got = append(got, s.hear())
	}
	slices.Sort(got)
	if want := []string{"changed 1", "done", "n=i:0; rows 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.leave()
}

func (s *sqlShell) mustCount(want int) {
	s.t.Helper()
	s.must(fmt.Sprintf("n=i:%d; rows 1", want), "query", "select count(*) as n from t")
}

// A transaction that SQLite itself has rolled back has ended, and lets others have their turn.
func TestSqliteLosesATransaction(t *testing.T) {
	t.Parallel()
	s := openSQLShell(t, example(t, "sqlite"), filepath.Join(t.TempDir(), "a.db"), 600000)
	const ended = " a.db: the transaction has ended"
	s.must("done", "script", "create table t (x, y); insert into t values (1, 2)")
	s.must("done", "begin")
	for {
		s.must("error 110 timeout", "t-soon", "insert into t with recursive c(i) as "+
			"(select 10 union all select i + 1 from c) select i, i from c")
		got := s.ask("t-run", "delete from t where x = 5")
		if got == "error 21 run"+ended {
			break
		}
		if got != "changed 0" { // the time was over before the change had begun
			t.Fatalf("behind an interrupted change: %s", got)
		}
	}
	s.must("error 21 commit"+ended, "commit")
	s.mustCount(1)
	s.must("max_page_count=i:8; rows 1", "returning", "pragma max_page_count = 8")
	s.must("done", "begin")
	s.must("changed 1", "t-run", "delete from t")
	s.must("error 13 run a.db: database or disk is full", "t-run",
		"insert into t values (1, zeroblob(1000000))")
	s.must("done", "drop")
	s.mustCount(1)
	s.leave()
}

// An endless query ends with its limit of time, and the next operation has its turn.
func TestSqliteInterrupted(t *testing.T) {
	t.Parallel()
	s := openSQLShell(t, example(t, "sqlite"), "memory", 60000)
	const endless = "with recursive c(i) as (select 1 union all select i + 1 from c) "
	s.must("error 110 timeout", "soon", endless+"select count(*) from c")
	s.must("one=i:1; rows 1", "query", "select 1 as one")
	s.must("done", "script", "create table t (x)")
	s.must("error 110 timeout", "run-soon", "insert into t "+endless+"select i from c")
	s.must("n=i:0; rows 1", "query", "select count(*) as n from t")
	// one that waits for its turn
	s.must("done", "begin")
	s.must("error 110 timeout", "soon", "select 1")
	s.must("done", "drop")
	s.must("one=i:1; rows 1", "query", "select 1 as one")
	s.leave()
}

// A lock of another process is waited for, no longer than is allowed, in both modes of the log.
func TestSqliteLocked(t *testing.T) {
	t.Parallel()
	exe := example(t, "sqlite")
	for _, mode := range []string{"wal", "journal"} {
		t.Run(mode, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.db")
			a := openSQLShell(t, exe, file, 60000, mode)
			b := openSQLShell(t, exe, file, 200, mode)
			c := openSQLShell(t, exe, file, 600000, mode)
			a.must("done", "script", "create table t (x)")
			a.must("done", "begin")
			a.must("changed 1", "t-run", "insert into t values (1)")
			for _, words := range [][]string{{"run", "insert into t values (2)"}, {"begin"},
				{"script", "insert into t values (2)"}, {"all", "insert into t values (2)"}} {
				what := strings.Replace(words[0], "all", "run_all", 1)
				b.must("error 5 "+what+" a.db: database is locked", words...)
			}
			b.must("n=i:0; rows 1", "query", "select count(*) as n from t")
			c.must("error 110 timeout", "run-soon", "insert into t values (3)")
			c.tell("run", "insert into t values (4)")
			time.Sleep(20 * time.Millisecond) // so that it most likely waits; right without, too
			a.must("done", "commit")
			if got := c.hear(); got != "changed 1" {
				t.Errorf("behind the lock: %q", got)
			}
			b.must("n=i:2; rows 1", "query", "select count(*) as n from t")
			for _, s := range []*sqlShell{a, b, c} {
				s.leave()
			}
		})
	}
}

// Names of files that are none, and files that are no databases.
func TestSqliteOpen(t *testing.T) {
	t.Parallel()
	exe, dir := example(t, "sqlite"), t.TempDir()
	put := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, how, want string }{
		{"", "", "error 14 open : this is no name of a file"},
		{dir, "", "error 14 open DIR: unable to open database file"},
		{filepath.Join(dir, "none", "a.db"), "",
			"error 14 open DIR/none/a.db: unable to open database file"},
		{filepath.Join(dir, "none.db"), "read-only",
			"error 14 open DIR/none.db: unable to open database file"},
		{put("text", strings.Repeat("no database\n", 100)), "",
			"error 26 open DIR/text: file is not a database"},
		{put("header", "SQLite format 3\x00"+strings.Repeat("\xff", 600)), "",
			"error 26 open DIR/header: file is not a database"},
	} {
		s := newSQLShell(t, exe, c.name, 1000, c.how)
		s.dir = "\x00"
		if got := strings.ReplaceAll(s.hear(), dir, "DIR"); got != c.want {
			t.Errorf("%q: got %s, want %s", c.name, got, c.want)
		}
		s.leave()
	}
	s := newSQLShell(t, exe, filepath.Join(dir, "pipe"), 1000, "")
	if got := s.hear(); !strings.HasPrefix(got, "error ") {
		t.Errorf("a pipe: got %q", got)
	}
	s.leave()
	// names that SQLite would take for more than names
	for _, name := range []string{":memory:", "file:x?mode=memory"} {
		cmd := exec.Command(exe, name, "1000", "")
		cmd.Dir = dir
		if out, err := cmd.Output(); err != nil || string(out) != "done\n" {
			t.Errorf("%s: %v, %q", name, err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("there is no file %s", name)
		}
	}
	// a program that only reads
	file := put("read.db", "")
	s = openSQLShell(t, exe, file, 1000)
	s.must("done", "script", "create table t (x); insert into t values (5)")
	s.leave()
	s = openSQLShell(t, exe, file, 1000, "read-only")
	s.must("x=i:5; rows 1", "query", "select * from t")
	s.must("error 8 run read.db: attempt to write a readonly database", "run", "delete from t")
	s.leave()
}

// On a full disk an operation is an error, nothing of it is left, and when there is room again the
// next one works.
func TestSqliteOnAFullDisk(t *testing.T) {
	t.Parallel()
	exe, dir := example(t, "sqlite"), t.TempDir()
	mount := func(words ...string) error {
		return exec.Command("mount", append(words, dir)...).Run()
	}
	if err := mount("-t", "tmpfs", "-o", "size=256k", "none"); err != nil {
		t.Skipf("SKIP: mounting a tmpfs: %v; run as root", err)
	}
	t.Cleanup(func() {
		if err := exec.Command("umount", "-l", dir).Run(); err != nil {
			t.Error(err)
		}
	})
	s := openSQLShell(t, exe, filepath.Join(dir, "a.db"), 60000)
	s.must("done", "script", "create table t (x, y); insert into t values (1, null)")
	for _, words := range [][]string{{"run", "insert into t values (2, zeroblob(1000000))"},
		{"script", "insert into t values (2, zeroblob(1000000))"},
		{"all", "insert into t values (2, null)", "insert into t values (3, zeroblob(1000000))"}} {
		if got := s.ask(words...); !strings.HasSuffix(got, ": database or disk is full") ||
			!strings.HasPrefix(got, "error 13 ") {
			t.Errorf("%s: got %q", words[0], head(got))
		}
		s.must("x=i:1 y=n:; rows 1", "query", "select * from t")
	}
	if err := mount("-o", "remount,size=8m"); err != nil {
		t.Fatal(err)
	}
	s.must("changed 1", "run", "insert into t values (2, zeroblob(1000000))")
	s.mustCount(2)
	s.leave()
}

// What a process has been told is committed survives kill -9.
func TestSqliteKilled(t *testing.T) {
	t.Parallel()
	exe, file := example(t, "sqlite"), filepath.Join(t.TempDir(), "a.db")
	s := openSQLShell(t, exe, file, 60000)
	s.must("done", "script", "create table t (x)")
	for round := range 3 {
		for i := range 20 {
			s.must("changed 1", "run", fmt.Sprintf("insert into t values (%d)", 20*round+i))
		}
		s.must("done", "begin")
		s.must(fmt.Sprintf("changed %d", 20*round+20), "t-run", "delete from t")
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-s.ended
		s = openSQLShell(t, exe, file, 60000)
		s.must(fmt.Sprintf("n=i:%d; rows 1", 20*round+20), "query",
			"select count(distinct x) as n from t")
	}
	s.must("integrity_check=t:6f6b; rows 1", "query", "pragma integrity_check")
	s.leave()
}

// Statements that take for ever leave others a thread: more of them than the pool usually has.
func TestSqliteLeavesThreads(t *testing.T) {
	t.Parallel()
	p := start(t, compiled(t, "endless.eve", `import db.sqlite
const all: int = 8
endless: (db: sqlite.database@) void:
    _ <- db.query("with recursive c(i) as (select 1 union all select i + 1 from c)"
        + " select count(*) from c")
    fail "an endless statement has ended"
begin: (begun: int@) void:
    opened <- sqlite.open_memory() [+begun]
    match opened:
        error(e): fail e
        ok(db):
            endless(db)
            begun += 1
            if begun == all: look()
look: () void:
    about <- fs.info("/") [+stdout]
    match about:
        error(e): fail e
        ok(i): print("%v\n", i.is_directory())
    stdout.flush()
    process.exit(0)
main: () void:
    begun: int@
    for (i in 0..all): begin(begun)
`))
	p.mustExit(0)
	if got := p.out.String(); got != "true\n" {
		t.Errorf("printed %q", got)
	}
}

// Many tasks at two connections, with results that nobody waits for and transactions that nobody
// ends.
func TestSqliteManyTasks(t *testing.T) {
	t.Parallel()
	exe := example(t, "sqlite_many")
	for _, workers := range []int{1, 2, 8} {
		p := startWith(t, []string{exe, filepath.Join(t.TempDir(), "many.db")},
			fmt.Sprint("EVE_WORKERS=", workers))
		p.mustExit(0)
		if got := p.out.String(); got != "lost 0 []\n" {
			t.Errorf("%d workers: printed %q, %q", workers, got, p.err.String())
		}
	}
}

// FuzzSqliteValues stores any bytes as a text and as a blob, and gets the same ones back.
func FuzzSqliteValues(f *testing.F) {
	for _, s := range []string{"", "x", "'; drop table t; --", "\x00", "a\x00b", "\xff\xfe",
		"\u20ac", "?1 :a @b $c", strings.Repeat("y", 5000)} {
		f.Add([]byte(s))
	}
	exe := example(f, "sqlite")
	f.Fuzz(func(t *testing.T, data []byte) {
		s := openSQLShell(t, exe, "memory", 600000)
		a, b := "t:"+hex.EncodeToString(data), "b:"+hex.EncodeToString(data)
		s.must("done", "script", "create table t (a, b)")
		s.must("changed 1", "run", "insert into t values (?, ?)", a, b)
		s.must(fmt.Sprintf("a=%s b=%s; rows 1", a, b), "query",
			"select * from t where a = ? and b = ?", a, b)
		s.leave()
	})
}

// FuzzSqliteFile opens any bytes as a database. Each operation ends, with a result or an error.
func FuzzSqliteFile(f *testing.F) {
	exe := example(f, "sqlite")
	file := filepath.Join(f.TempDir(), "good.db")
	good := exec.Command(exe, file, "600000", "journal")
	good.Stdin = strings.NewReader("script\tcreate table t (x integer primary key, y unique); " +
		"insert into t with recursive c(i) as (select 1 union all select i + 1 from c where i < " +
		"300) select i, 'value ' || i from c\n")
	if out, err := good.CombinedOutput(); err != nil || string(out) != "done\ndone\n" {
		f.Fatalf("making a database: %v, %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	for _, at := range []int{18, 28, 52, 100, 103, 4096, 4100, len(data) - 4096, len(data) - 1} {
		bad := slices.Clone(data)
		bad[at] ^= 0xff
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "any.db")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s := newSQLShell(t, exe, file, 600000, "journal")
		if s.hear() == "done" {
			for _, words := range [][]string{{"query", "select * from sqlite_schema"},
				{"query", "select sum(x), max(y) from t"}, {"query", "pragma integrity_check(4)"},
				{"run", "insert into t (y) values ('one more')"}, {"run", "delete from t"},
				{"script", "vacuum"}, {"run", "vacuum"}, {"close"}} {
				s.ask(words...)
			}
		}
		s.leave()
	})
}
