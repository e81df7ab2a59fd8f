package server

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/irctest"
)

// TestReportsTellNoAddress: an operator sees a report with the message, and neither the operator
// nor a file has the address of the reporter. Config.Report counts by the address.
func TestReportsTellNoAddress(t *testing.T) {
	folder := t.TempDir()
	asked := make(chan string, 10)
	srv := proxied(t, folder, func(c *Config) {
		c.Accounts = staff{}
		c.Cloak = func(netip.Addr) string { return "cloak.invalid" }
		c.Report = func(from net.Addr, account string) bool {
			asked <- fmt.Sprintf("%s %q", from, account)
			return len(asked) < 2
		}
	})
	root := login(srv.from("127.0.0.1"), "root", "root")
	eve := srv.from("192.0.2.7").Register("eve", "#tea")
	ann := srv.from("192.0.2.8")
	ann.Send("CAP REQ :message-tags\r\nCAP END")
	ann.Register("ann", "#tea")
	eve.Send("PRIVMSG #tea :buy my kettles")
	line := ann.ExpectLine("PRIVMSG #tea :buy my kettles")
	_, id, _ := strings.Cut(line, "msgid=")
	id, _, _ = strings.Cut(id, " ")
	ann.Send("REPORT #tea %s :spam", id)
	ann.Expect("NOTICE ann :Your report 1 is sent to the operators")
	ann.Send("REPORT eve :once more")
	ann.Expect("FAIL REPORT RATE_LIMITED")
	if got := <-asked; got != `192.0.2.8:4711 ""` {
		t.Errorf("counted as %s", got)
	}
	root.Send("REPORTS LIST\r\nREPORTS SHOW 1\r\nPING end")
	heard := root.Expect("PONG chat :end")
	all := strings.Join(heard, "\n")
	for _, want := range []string{" NOTICE root :new report 1 open ",
		" by=~ann of=eve account= in=#tea spam", " NOTICE root :text 1 buy my kettles",
		" NOTICE root :1 reports are open."} {
		if !strings.Contains(all, want) {
			t.Errorf("root is not told %q:\n%s", want, all)
		}
	}
	lacks(t, heard, "192.0.2.")
	srv.end()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("192.0.2.")) {
			t.Errorf("%s has an address", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if said := srv.said.String(); !strings.Contains(said, "report=1") ||
		strings.Contains(said, "kettles") {
		t.Errorf("the server's log is\n%s", said)
	}
}

// TestReportsReachAllServers: an operator on another server gets a report at once, and closes it
// there.
func TestReportsReachAllServers(t *testing.T) {
	url := startNATS(t)
	var at [2]*member
	for n := range at {
		at[n] = &member{name: fmt.Sprintf("s%d", n), folder: t.TempDir(), accounts: staff{}}
		at[n].begin(t, url, nil)
	}
	root := login(irctest.Dial(t, at[0].at), "root", "root")
	ann := login(irctest.Dial(t, at[1].at), "ann", "ann")
	ann.Send("REPORT root :a test")
	root.Expect(":new report 1 open ")
	root.Send("REPORTS CLOSE 1 :seen")
	root.Expect(":now closed 1 by=root ")
	other := login(irctest.Dial(t, at[1].at), "root", "root")
	other.Send("REPORTS LIST ALL")
	other.Expect(":report 1 closed ")
	for _, m := range at {
		if err := m.end(t); err != nil {
			t.Error(err)
		}
	}
}
