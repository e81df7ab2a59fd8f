package servers_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"interleave/internal/postgres"
)

// onPostgres is a program for SQLite of testdata/server as one for PostgreSQL: it imports another
// module under the same name, and has another function main. The shell knows two kinds more, and
// m:N, a blob of N bytes.
func onPostgres(t testing.TB, name, main string) string {
	t.Helper()
	text, _, _ := strings.Cut(exampleText(t, name), "main: () void:")
	text = strings.NewReplacer("import db.sqlite", "import db.postgres as sqlite",
		"        else: return sqlite.null()", "        'o': return sqlite.boolean(rest == \"1\")\n"+
			"        'm': return sqlite.blob(\"x\".repeat(rest.to_int() else 0).bytes())\n"+
			"        else: return sqlite.null()",
		"            else: parts.push(f\"{c}=n:\")",
		"            \"boolean\": parts.push(f\"{c}=o:{r.boolean(c)?}\")\n"+
			"            \"numeric\": parts.push(f\"{c}=d:{r.text(c)?}\")\n"+
			"            else: parts.push(f\"{c}=n:\")").Replace(text)
	return compiled(t, strings.Replace(name, "sqlite", "postgres", 1)+".eve", text+main)
}

func postgresShell(t testing.TB) (exe string) {
	t.Helper()
	return onPostgres(t, "sqlite", `main: () void:
    words: vector<string> = process.args()
    opened <- sqlite.open(words[0], 1ms * (words[1].to_int() else 0),
        words[2].to_int() else 0) [+stdout]
    serve(opened)
`)
}

// newPostgresShell starts a shell with a pool of so many connections; wait is in milliseconds. The
// loop is uring or epoll.
func newPostgresShell(t *testing.T, exe, url string, wait, most int, loop string) *sqlShell {
	t.Helper()
	_, at, _ := strings.Cut(url, "@")
	address, _, _ := strings.Cut(at, "/")
	words := []string{exe, url, fmt.Sprint(wait), fmt.Sprint(most)}
	if loop != "" {
		words = append([]string{"env", "EVE_IO=" + loop}, words...)
	}
	return sqlShellOf(t, exec.Command(words[0], words[1:]...), address+"/")
}

// openHasty starts a shell with a pool of one connection, for which operations do not wait long.
// That is also the time for connecting: on a busy machine the next shell has twice as much.
func openHasty(t *testing.T, exe, url string) *sqlShell {
	t.Helper()
	for wait := 300; ; wait *= 2 {
		s := newPostgresShell(t, exe, url, wait, 1, "")
		got := s.hear()
		if got == "done" {
			return s
		}
		if got != failed("08001", "open "+nameOf(url)+": the server does not answer") ||
			wait > long {
			t.Fatalf("opening %s within %d ms: %q", url, wait, got)
		}
		s.leave()
	}
}

func openPostgresShell(t *testing.T, exe, url string, wait, most int, loop string) *sqlShell {
	t.Helper()
	s := newPostgresShell(t, exe, url, wait, most, loop)
	if got := s.hear(); got != "done" {
		t.Fatalf("opening %s: %q", url, got)
	}
	return s
}

// failed is the answer for an error with this SQLSTATE.
func failed(state, text string) string {
	n, _ := strconv.ParseInt(state, 36, 64)
	return fmt.Sprintf("error %d %s", n, text)
}

const long = 600_000 // milliseconds that no step comes near

// Operations on a database of PostgreSQL.
func TestPostgres(t *testing.T) {
	t.Parallel()
	server := postgres.New(t)
	exe, url := postgresShell(t), server.Database(t)
	t.Run("statements", func(t *testing.T) { postgresStatements(t, exe, url) })
	t.Run("transactions", func(t *testing.T) {
		postgresTransactions(t, exe, server.Database(t), "")
	})
	t.Run("cancelled", func(t *testing.T) { postgresCancelled(t, exe, server.Database(t), "") })
	t.Run("open", func(t *testing.T) { postgresOpen(t, exe, url) })
}

// The same by epoll; a pool without a free connection; and a server that goes away.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	server := postgres.New(t)
	exe := postgresShell(t)
	t.Run("transactions", func(t *testing.T) {
		postgresTransactions(t, exe, server.Database(t), "epoll")
	})
	t.Run("cancelled", func(t *testing.T) {
		postgresCancelled(t, exe, server.Database(t), "epoll")
	})
	t.Run("pool", func(t *testing.T) { postgresPool(t, exe, server.Database(t)) })
	t.Run("away", func(t *testing.T) { postgresAway(t, exe, server) })
}

// nameOf is the name of a URL's database.
func nameOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }

func postgresStatements(t *testing.T, exe, url string) {
	s := openPostgresShell(t, exe, url, long, 4, "")
	name := nameOf(url)
	wrong := func(what, state, why string, words ...string) {
		t.Helper()
		s.must(failed(state, what+" "+name+": "+why), words...)
	}
	s.must("done", "script", "/* a schema */ create table t (x int primary key, y text); "+
		"create table u (x int references t) ;; ")
	s.must("done", "script", "")
	s.must("changed 1", "run", "insert into t values ($1, $2)", "i:1", text("one"))
	s.must("changed 2", "run", "insert into t values (2, $1), (3, $1)", text("two"))
	s.must("rows 0", "query", "select * from t where y = $1", text("none"))
	s.must("x=i:1 y=t:6f6e65; x=i:2 y=t:74776f; x=i:3 y=t:74776f; rows 3", "query",
		"select * from t order by x")
	s.must("x=i:4; rows 1", "returning", "insert into t values (4) returning x")
	s.must("a=i:-9223372036854775808 b=r:0.5 c=t:78 d=b:00ff e=n: f=o:true g=d:1.50 h=t:78 "+
		"i=t:323030312d30322d3033; rows 1", "query", "select $1::bigint as a, $2::float8 as b, "+
		"$3::text as c, $4::bytea as d, $5::text as e, $6::bool as f, 1.50 as g, "+
		"'x'::varchar as h, '2001-02-03'::date as i", "i:-9223372036854775808", "r:0.5", text("x"),
		"b:00ff", "n:", "o:1")
	s.must("a=b: b=t: c=i:7 d=i:8; rows 1", "query",
		"select $1::bytea as a, $2::text as b, 7::smallint as c, 8::oid as d", "b:", "t:")
	s.must("a=r:nan b=r:-inf c=r:0.1 d=r:1e+300; rows 1", "query", "select $1::float8 as a, "+
		"$2::float8 as b, $3::float8 as c, $4::float8 as d", "r:nan", "r:-inf", "r:0.1", "r:1e300")
	const large = 6 << 20 // more than a socket takes at once
	s.must(fmt.Sprintf("n=i:%d; rows 1", large), "query", "select length($1::bytea) as n",
		fmt.Sprint("m:", large))
	s.must("changed 0", "run", "create table v (x int)")
	s.must("changed 0", "run", "select * from t")
	s.must("changed 4", "run", "update t set y = null")
	s.must("changed 3", "all", "insert into v values (1), (2)", "delete from v where x = 1")

	wrong("run", "23505", `duplicate key value violates unique constraint "t_pkey"`, "run",
		"insert into t values (1, 2)")
	wrong("run", "23503", `insert or update on table "u" violates foreign key constraint `+
		`"u_x_fkey"`, "run", "insert into u values (99)")
	wrong("query", "42601", `syntax error at or near "selec"`, "query", "selec 1")
	wrong("query", "42P01", `relation "w" does not exist`, "query", "select * from w")
	wrong("query", "25006", "cannot execute DELETE in a read-only transaction", "query",
		"delete from t")
	wrong("query", "54000", "there are more than 5 rows", "query",
		"select generate_series(1, 6)")
	wrong("query", "54000", "there are more than 5 rows", "query", // it is cut short
		"select a, b from generate_series(1, 1000000) a, generate_series(1, 1000000) b")
	wrong("run", "08P01", `bind message supplies 0 parameters, but prepared statement "" `+
		`requires 1`, "run", "delete from t where x = $1")
	wrong("run", "42601", "there is no statement", "run", " -- nothing")
	wrong("run", "42601", "there is no statement", "run", "")
	wrong("run", "42601", "cannot insert multiple commands into a prepared statement", "run",
		"delete from t; delete from t")
	wrong("run", "42601", "there is a zero byte in the statement", "run", "delete from v\x00")
	wrong("script", "42601", "there is a zero byte in the script", "script", "delete from v\x00")
	wrong("run", "22021", "there is a zero byte in a text", "run", "insert into t values (7, $1)",
		text("a\x00b"))
	wrong("run", "22021", `invalid byte sequence for encoding "UTF8": 0xff`, "run",
		"insert into t values (7, $1)", text("\xff"))
	for _, sql := range []string{"begin", "COMMIT", " ;/* a /* b */ c */ rollback", "savepoint a",
		"--\rrelease a", "start transaction", "end", "abort", "prepare transaction 'a'"} {
		wrong("run", "0A000", "begin, commit, rollback, savepoint and prepare are no statements "+
			"here", "run", sql)
	}
	wrong("script", "0A000", "a script does not begin a transaction", "script",
		"begin; delete from v")
	// all or nothing
	wrong("script", "42P01", `relation "w" does not exist`, "script",
		"delete from v; delete from w")
	wrong("run_all", "42P01", `relation "w" does not exist`, "all", "delete from v",
		"delete from w")
	s.must("n=i:1; rows 1", "query", "select count(*) as n from v")
	for _, sql := range []string{"copy t to stdout", "copy t from stdin"} {
		for _, how := range []string{"run", "script", "query"} {
			if got := s.ask(how, sql); !strings.HasPrefix(got, "error ") {
				t.Errorf("%s %q: %s", how, sql, got)
			}
		}
	}

	s.must("1 | 1 | column x is integer, not text | false | integer", "take",
		"select 1 as x", "x")
	s.must("3 | 3 | 3 | false | numeric", "take", "select 3::numeric as x", "x")
	s.must("column x is numeric, not integer | 1.5 | 1.50 | false | numeric", "take",
		"select 1.50 as x", "x")
	s.must("column x is null, not integer | column x is null, not real | "+
		"column x is null, not text | true | null", "take", "select null as x", "x")
	s.must("there is no column y | there is no column y | there is no column y | "+
		"there is no column y | there is no column y", "take", "select 1 as x", "y")
	s.must("done", "close")
	wrong("query", "08003", "the database is closed", "query", "select 1")
	wrong("begin", "08003", "the database is closed", "begin")
	wrong("script", "08003", "the database is closed", "script", "select 1")
	wrong("close", "08003", "the database is closed", "close")
	s.leave()
}

// A transaction has a connection of its own until it has ended: by commit, by rollback, or with its
// last handle.
func postgresTransactions(t *testing.T, exe, url, loop string) {
	s := openPostgresShell(t, exe, url, long, 2, loop)
	name := nameOf(url)
	const aborted = ": current transaction is aborted, commands ignored until end of transaction " +
		"block"
	s.must("done", "script", "create table t (x int primary key, y text)")
	s.must("done", "begin")
	s.must("changed 1", "t-run", "insert into t values (1, $1)", text("a"))
	s.must("n=i:1; rows 1", "t-query", "select count(*) as n from t")
	s.mustCount(0) // the others do not see it yet
	s.must("x=i:2; rows 1", "t-returning", "insert into t values (2, 'b') returning x")
	s.must(failed("0A000", "run "+name+": begin, commit, rollback, savepoint and prepare are no "+
		"statements here"), "t-run", "commit")
	s.must("done", "commit")
	s.mustCount(2)
	for _, what := range []string{"commit", "rollback", "run"} {
		s.must(failed("08003", what+" "+name+": the transaction has ended"),
			strings.Replace(what, "run", "t-run", 1), "delete from t")
	}
	// an error ends all but the rollback
	for _, bad := range [][]string{{"t-run", "insert into t values (1, 2)"},
		{"t-query", "delete from t"}, {"t-query", "select generate_series(1, 1000000)"}} {
		s.must("done", "begin")
		s.must("changed 2", "t-run", "update t set y = 'c'")
		if got := s.ask(bad...); !strings.HasPrefix(got, "error ") {
			t.Errorf("%q: %s", bad, got)
		}
		s.must(failed("25P02", "run "+name+aborted), "t-run", "delete from t")
		s.must(failed("25P02", "commit "+name+": the transaction has failed before"), "commit")
		s.must("n=i:0; rows 1", "query", "select count(*) as n from t where y = 'c'")
	}
	for _, end := range []string{"rollback", "drop"} {
		s.must("done", "begin")
		s.must("changed 2", "t-run", "update t set y = 'c'")
		s.must("done", end)
		s.must("changed 2", "run", "update t set y = 'd'") // its locks have gone
		s.mustCount(2)
	}
	s.leave()
}

// A statement whose time is over is cancelled, and its connection has its next operation.
func postgresCancelled(t *testing.T, exe, url, loop string) {
	s := openPostgresShell(t, exe, url, long, 1, loop)
	name := nameOf(url)
	s.must("error 110 timeout", "soon", "select pg_sleep(1000)")
	s.must("one=i:1; rows 1", "query", "select 1 as one")
	s.must("done", "script", "create table t (x int)")
	s.must("error 110 timeout", "run-soon", "insert into t select 1 from pg_sleep(1000)")
	s.mustCount(0)
	// one that waits for a connection
	s.must("done", "begin")
	s.must("error 110 timeout", "soon", "select 1")
	s.must("changed 1", "t-run", "insert into t values (5)")
	s.must("error 110 timeout", "t-soon", "select pg_sleep(1000)")
	s.must(failed("25P02", "commit "+name+": the transaction has failed before"), "commit")
	s.mustCount(0)
	s.leave()
}

// A pool has so many connections, for which operations wait in the order of their calls.
func postgresPool(t *testing.T, exe, url string) {
	s := openHasty(t, exe, url)
	name := nameOf(url)
	s.must("done", "begin")
	for _, words := range [][]string{{"query", "select 1"}, {"begin"}, {"script", "select 1"}} {
		s.must(failed("53300", words[0]+" "+name+": no connection is free"), words...)
	}
	s.must("done", "commit")
	s.must("one=i:1; rows 1", "query", "select 1 as one")
	s.leave()

	s = openPostgresShell(t, exe, url, long, 1, "")
	s.must("done", "script", "create table t (x int)")
	s.must("done", "begin")
	s.must("changed 1", "t-run", "insert into t values (1)")
	s.tell("query", "select count(*) as n from t")
	s.tell("run", "insert into t values (7)")
	s.tell("commit")
	var got []string
	for range 3 {
		got = append(got, s.hear())
	}
	slices.Sort(got)
	if want := []string{"changed 1", "done", "n=i:1; rows 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.must("done", "begin")
	s.tell("query", "select 1")
	s.tell("close")
	got = []string{s.hear(), s.hear()}
	slices.Sort(got)
	if want := []string{"done", failed("08003", "query "+name+": the database is closed")}; //
	!slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.must("done", "commit") // what was under way goes on
	s.leave()
}

// URLs that are none, and servers that are no databases.
func postgresOpen(t *testing.T, exe, url string) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() // it accepts in its backlog, and says nothing
	noisy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer noisy.Close()
	go func() {
		for {
			c, err := noisy.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "220 mail.example.org ESMTP\r\n")
			bufio.NewReader(c).ReadByte()
			c.Close()
		}
	}()
	const secret = "hunter2"
	address, _, _ := strings.Cut(url, "/"+nameOf(url))
	for _, c := range []struct {
		url, want string
		wait      int
	}{
		{"nonsense", "open the database: this is no URL of a database", long},
		{"postgres://[::1/x:" + secret, "open the database: this is no URL of a database", long},
		{"postgres://u:" + secret + "@127.0.0.1:1/x",
			`open 127.0.0.1:1/x: connection to server at "127.0.0.1", port 1 failed: `, long},
		{"postgres://u:" + secret + "@no.such.host.invalid/x",
			"open no.such.host.invalid/x: could not translate host name", long},
		{address + "/none", `: connection to server at "127.0.0.1", port `, long},
		{fmt.Sprintf("postgres://u:%s@%s/x", secret, silent.Addr()), "the server does not answer",
			200},
		{fmt.Sprintf("postgres://u:%s@%s/x", secret, noisy.Addr()), "open 127.0.0.1:", long},
	} {
		s := newPostgresShell(t, exe, c.url, c.wait, 1, "")
		s.dir = "\x00"
		n, _ := strconv.ParseInt("08001", 36, 64)
		if got := s.hear(); !strings.HasPrefix(got, fmt.Sprintf("error %d ", n)) ||
			!strings.Contains(got, c.want) || strings.Contains(got, secret) {
			t.Errorf("%q: got %q, want %q", c.url, got, c.want)
		}
		s.leave()
	}
}

// A server that goes away is an error of what is under way. The next operation connects again.
func postgresAway(t *testing.T, exe string, server *postgres.Server) {
	url := server.Database(t)
	s := openPostgresShell(t, exe, url, long, 3, "")
	s.must("done", "script", "create table t (x int); insert into t values (1)")
	for range 2 { // once with an operation while it is away, once without
		s.must("done", "begin") // leaves two connections idle
		s.mustCount(1)
		s.must("done", "rollback")
		server.Stop()
		server.Start()
		s.mustCount(1)
		s.must("done", "begin")
		s.must("changed 1", "t-run", "insert into t values (2)")
		server.Stop()
		for _, words := range [][]string{{"t-run", "insert into t values (3)"},
			{"query", "select 1"}, {"run", "insert into t values (4)"}, {"begin"},
			{"commit"}} {
			if got := s.ask(words...); !strings.HasPrefix(got, "error ") {
				t.Errorf("%q without a server: %s", words, got)
			}
		}
		server.Start()
		s.mustCount(1)
	}
	// a server that ends a connection says why
	other := openPostgresShell(t, exe, url, long, 1, "")
	s.tell("query", "select pg_sleep(1000)")
	s.eventually("the statement is ended", func() bool {
		return strings.Contains(other.ask("query", "select pg_terminate_backend(pid) as x from "+
			"pg_stat_activity where query = 'select pg_sleep(1000)'"), "x=o:true")
	})
	if got, want := s.hear(), failed("57P01", "query "+nameOf(url)+": terminating connection due "+
		"to administrator command"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.mustCount(1)
	other.leave()
	s.leave()
}

// A cutter is a way to a server on which each connection breaks when the server has sent so many
// bytes.
type cutter struct {
	net.Listener
	to    string
	bytes int64
}

func newCutter(t *testing.T, to string, bytes int64) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{l, to, bytes}
	go c.serve()
	return c
}

func (c *cutter) serve() {
	for {
		client, err := c.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			client.Close()
			continue
		}
		go io.Copy(server, client) // it ends with the connection
		go func() {
			io.CopyN(client, server, c.bytes)
			client.Close()
			server.Close()
		}()
	}
}

// A connection may break at any byte: in the handshake, in an answer, between two operations. Each
// operation ends, and after an error the next one connects again.
func TestPostgresBroken(t *testing.T) {
	t.Parallel()
	server := postgres.New(t)
	exe, url := postgresShell(t), server.Database(t)
	_, at, _ := strings.Cut(url, "@")
	address, name, _ := strings.Cut(at, "/")
	good := openPostgresShell(t, exe, url, long, 1, "")
	good.must("done", "script", "create table t (x int primary key, y text); "+
		"insert into t select i, 'value ' || i from generate_series(1, 30) i")
	opened, answered := 0, 0
	for cut := int64(0); cut < 1500; cut += 47 {
		c := newCutter(t, address, cut)
		s := newPostgresShell(t, exe, fmt.Sprintf("postgres://tester@%s/%s", c.Addr(), name), long,
			2, []string{"", "epoll"}[cut%2])
		if !strings.HasPrefix(s.hear(), "error ") {
			opened++
			for _, words := range [][]string{{"query", "select * from t where x < 4"},
				{"run", "update t set y = 'new' where x < 20"}, {"begin"},
				{"t-query", "select * from t where x < 4"}, {"t-run", "delete from t"}, {"commit"},
				{"all", "delete from t where x = 0", "insert into t values (1, 2)"},
				{"query", "select * from t where x < 3"}} {
				if !strings.HasPrefix(s.ask(words...), "error ") {
					answered++
				}
			}
		}
		s.leave()
		good.must("one=i:1; rows 1", "query", "select 1 as one")
	}
	if opened == 0 || answered == 0 {
		t.Errorf("%d have opened, and %d operations were answered", opened, answered)
	}
	good.leave()
}

// Many tasks at two pools, with results that nobody waits for and transactions that nobody ends.
func TestPostgresManyTasks(t *testing.T) {
	t.Parallel()
	server := postgres.New(t)
	exe := onPostgres(t, "sqlite_many", `main: () void:
    name: string = process.args()[0]
    first <- sqlite.open(name, 600s, 3) [=name]
    second <- sqlite.open(name, 600s, 2) [=first]
    match first:
        error(e): fail e
        ok(a):
            match second:
                error(e): fail e
                ok(b): start(a, b)

start: (a: sqlite.database@, b: sqlite.database@) void:
    made <- a.script("create table t (x integer primary key, y text)") [-a, -b]
    match made:
        error(e): fail e
        ok: pass
    s: sums@
    for (i in 0..tasks): insert(a, b, s, i)
    for (i in 0..4):
        @ []: compute()
`)
	for _, workers := range []int{1, 2, 8} {
		p := startWith(t, []string{exe, server.Database(t)}, fmt.Sprint("EVE_WORKERS=", workers))
		p.mustExit(0)
		if got := p.out.String(); got != "lost 0 []\n" {
			t.Errorf("%d workers: printed %q, %q", workers, got, p.err.String())
		}
	}
}

// FuzzPostgresText runs any text as a statement: it ends, and the connection is fit for the next
// one. As a value the text comes back as it is, or is an error if it is no UTF-8.
func FuzzPostgresText(f *testing.F) {
	for _, sql := range []string{"", ";", "select 1", "/*", "/* /* */", "--", "-- \rcommit",
		"/**/end", "Begin", "c\x00ommit", "'", "$$", "do $$ begin commit; end $$", "listen a",
		"notify a", "select 1; commit", "\u20ac", "\xff", "execute a",
		"declare c cursor for select 1", "set transaction read only", "discard all",
		"lock pg_class"} {
		f.Add(sql)
	}
	server := postgres.New(f)
	exe, url := postgresShell(f), server.Database(f)
	f.Fuzz(func(t *testing.T, sql string) {
		if strings.ContainsAny(sql, "\n\t") {
			t.Skip("the shell's own signs")
		}
		s := openPostgresShell(t, exe, url, long, 1, "")
		for _, how := range []string{"run", "query", "script", "all"} {
			s.ask(how, sql)
			s.must("one=i:1; rows 1", "query", "select 1 as one")
		}
		data := hex.EncodeToString([]byte(sql))
		s.must("x=b:"+data+"; rows 1", "query", "select $1::bytea as x", "b:"+data)
		if got := s.ask("query", "select $1::text as x", "t:"+data); //
		got != "x=t:"+data+"; rows 1" && !strings.HasPrefix(got, "error 3452617 ") {
			t.Errorf("the text %q: %s", sql, got)
		}
		s.leave()
	})
}
