package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/probe/probetest"
)

// blockedReader finds, in /proc/locks, a process that waits for a shared lock of a file.
var blockedReader = regexp.MustCompile(`(?m)^\d+: -> FLOCK +ADVISORY +READ +\d+ [0-9a-f:]+:(\d+) `)

// TestReadersLock: c-process-flock reads the log under a shared lock, as the paper does, and
// c-process reads without one. While another process holds the log, a member that comes back gets
// the missed message from c-process alone.
func TestReadersLock(t *testing.T) {
	for _, c := range []struct {
		model string
		waits bool
	}{{"c-process", false}, {"c-process-flock", true}} {
		t.Run(c.model, func(t *testing.T) {
			m := probetest.One(t, c.model)
			folder, _ := m.Folder(t, 0)
			server := m.Start(t, folder)
			bob := enter(t, server, "bob")
			bob.Send("QUIT")
			bob.ExpectEnd()
			ann := enter(t, server, "ann")
			ann.Send("PRIVMSG #tea :the kettle is on\r\nPING 1")
			ann.Expect("PONG chat :1")

			log, err := os.Open(filepath.Join(folder.Path, "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if err := syscall.Flock(int(log.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			bob = visit(t, server, joinTea, "bob")
			if c.waits {
				awaitReader(t, log)
				if err := syscall.Flock(int(log.Fd()), syscall.LOCK_UN); err != nil {
					t.Fatal(err)
				}
			}
			bob.Expect("the kettle is on")
		})
	}
}

// awaitReader waits until a process waits for a shared lock of the file.
func awaitReader(t *testing.T, file *os.File) {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip("SKIP: /proc/locks cannot be read here:", err)
		}
		for _, match := range blockedReader.FindAllStringSubmatch(string(locks), -1) {
			if match[1] == strconv.FormatUint(st.Ino, 10) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no reader waits for the log; /proc/locks:\n%s", locks)
		}
	}
}

// TestMulticast: each message wakes the SENDs of all clients in c-process-flock, as in the paper,
// and in c-process those of its room alone.
func TestMulticast(t *testing.T) {
	for _, c := range []struct {
		model string
		wakes bool
	}{{"c-process", false}, {"c-process-flock", true}} {
		t.Run(c.model, func(t *testing.T) {
			m := probetest.One(t, c.model)
			folder, _ := m.Folder(t, 0)
			server := m.Start(t, folder)
			bob := visit(t, server, "NICK bob\r\nUSER u 0 * :bob\r\nJOIN #milk\r\nPING 0")
			bob.Expect("PONG chat :0")
			sender := pidOf(t, server, "chat: send")
			ann, eve := enter(t, server, "ann"), enter(t, server, "eve")
			const messages = 20
			before := rests(t, sender)
			for n := range messages {
				ann.Send("PRIVMSG #tea :%d", n)
				eve.Expect(fmt.Sprintf("PRIVMSG #tea :%d", n))
			}
			// SEND may wake for its clock, or for several messages at once.
			got := rests(t, sender) - before
			if c.wakes && got == 0 || !c.wakes && got >= messages/2 {
				t.Errorf("bob's SEND rested %d times while others sent %d messages", got, messages)
			}
		})
	}
}

// pidOf returns the only process of the server that has this name.
func pidOf(t *testing.T, server *probetest.Server, name string) int {
	t.Helper()
	var found []int
	for _, pid := range server.Group.PIDs() {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.TrimSpace(string(comm)) == name {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the processes %q are %v, want one", name, found)
	}
	return found[0]
}

// rests waits until a process sleeps, and returns how often it has gone to sleep by itself. A
// process that was woken may wait for a core of a busy machine, and has not counted that yet.
func rests(t *testing.T, pid int) int {
	t.Helper()
	last := -1
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
		count, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil {
			t.Fatalf("voluntary_ctxt_switches: %v", err)
		}
		if sleeps := strings.Contains(string(text), "\nState:\tS"); sleeps && n == last {
			return n
		} else if sleeps {
			last = n
		} else {
			last = -1
		}
		if time.Now().After(end) {
			t.Fatalf("the process %d does not sleep:\n%s", pid, text)
		}
	}
}
