package servers_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const unixServer = `import io.socket.*
main: () void:
    l: tcp_socket@ = tcp_socket.listen(0, "unix:" + process.args()[0])
    on l listening [+stdout]:
        print("port %d\n", listening.port)
        stdout.flush()
    on l connection:
        c: socket@ = connection()
        on c line: c.write("%s from %s\n", line.text, c.address())
    on process.signals terminate: process.shutdown(10s)
`

const unixClient = `import io.socket.*
main: () void:
    s <- tcp_socket.connect("unix:" + process.args()[0], 0) [+stdout]
    match s:
        error(e): print("%d %s\n", e.code(), e.text())
        ok(c):
            @ [+c, +stdout]:
                print("%s\n", c.address())
                c.write("hello\n")
            on c line [+stdout]:
                print("%s\n", line.text)
                c.close()
`

// startUnix starts the server on a path, and waits until it listens.
func startUnix(t *testing.T, workers int, path string) *process {
	t.Helper()
	p := startWith(t, []string{compiled(t, "unix.eve", unixServer), path},
		fmt.Sprint("EVE_WORKERS=", workers))
	p.eventually("it listens", func() bool {
		p.mustRun()
		return p.out.String() == "port 0\n"
	})
	return p
}

// A server on a Unix socket. Its file is removed at the end. One that a killed server has left is
// replaced, and one that is in use, or no socket, is not.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		path := filepath.Join(t.TempDir(), "s")
		killed := startUnix(t, workers, path)
		killed.cmd.Process.Kill()
		<-killed.ended
		p := startUnix(t, workers, path)
		c, err := net.DialTimeout("unix", path, patience)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(patience))
		fmt.Fprint(c, "a line\n")
		if got, err := bufio.NewReader(c).ReadString('\n'); got != "a line from unix:\n" {
			t.Errorf("got %q, %v", got, err)
		}
		c.Close()

		client := compiled(t, "unixclient.eve", unixClient)
		says(t, client, path, "unix:"+path+"\nhello from unix:\n")
		says(t, client, path+"x", "2 cannot connect to unix:"+path+
			"x: No such file or directory\n")
		long := strings.Repeat("x", 200)
		says(t, client, long, "113 cannot connect to unix:"+long+": Name or service not known\n")

		fails(t, path, "Address already in use")
		p.signal(syscall.SIGTERM)
		p.mustExit(0)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
		says(t, client, path, "2 cannot connect to unix:"+path+": No such file or directory\n")

		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		fails(t, path, "Address already in use")
		if text, err := os.ReadFile(path); string(text) != "precious" {
			t.Errorf("the file has %q, %v", text, err)
		}
		fails(t, filepath.Join(t.TempDir(), "no", "folder"), "No such file or directory")
		fails(t, strings.Repeat("x", 200), "Cannot assign requested address")
	})
}

// says runs a program with an argument, and compares what it prints.
func says(t *testing.T, exe, arg, want string) {
	t.Helper()
	p := startWith(t, []string{exe, arg})
	p.mustExit(0)
	if got := p.out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// fails starts the server on a path where it cannot listen.
func fails(t *testing.T, path, why string) {
	t.Helper()
	p := startWith(t, []string{compiled(t, "unix.eve", unixServer), path})
	p.mustExit(1)
	if got := p.err.String(); !strings.HasSuffix(got, "cannot listen on unix:"+path+": "+why+"\n") {
		t.Errorf("got %q, want %q", got, why)
	}
}
