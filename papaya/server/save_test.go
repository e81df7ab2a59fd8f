package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/log"
)

// A countingLog counts what is written to it. It may fail to save states.
type countingLog struct {
	log.Log
	mu                  sync.Mutex
	batches, batchBytes int
	states, stateBytes  int
	fail                error
	saved               chan uint64 // the sequences of saved states
}

func (l *countingLog) Append(ctx context.Context, batch []byte) (uint64, error) {
	l.mu.Lock()
	l.batches, l.batchBytes = l.batches+1, l.batchBytes+len(batch)
	l.mu.Unlock()
	return l.Log.Append(ctx, batch)
}

func (l *countingLog) SaveState(ctx context.Context, sequence uint64, state []byte) error {
	l.mu.Lock()
	err := l.fail
	l.states, l.stateBytes = l.states+1, l.stateBytes+len(state)
	l.mu.Unlock()
	if err == nil {
		err = l.Log.SaveState(ctx, sequence, state)
	}
	select {
	case l.saved <- sequence:
	default:
	}
	return err
}

// counts returns what was written since the last call.
func (l *countingLog) counts() (batches, batchBytes, states, stateBytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batches, batchBytes, states, stateBytes = l.batches, l.batchBytes, l.states, l.stateBytes
	l.batches, l.batchBytes, l.states, l.stateBytes = 0, 0, 0, 0
	return batches, batchBytes, states, stateBytes
}

// openCounting starts a server with a countingLog.
func openCounting(t testing.TB, folder string) (*instance, *countingLog, *Admin) {
	t.Helper()
	l, admin := &countingLog{saved: make(chan uint64, 8)}, &Admin{}
	srv := open(t, folder, func(c *Config) {
		c.Accounts, c.Admin, c.Unique = everybody{}, admin, "chat"
		c.AlwaysOn = func() bool { return true }
		l.Log = c.Log
		c.Log = l
	})
	return srv, l, admin
}

// savePointNow has the state saved at the newest batch, and returns the hall's state there.
func savePointNow(t testing.TB, admin *Admin) (sequence uint64, state []byte) {
	t.Helper()
	s := admin.running()
	err := admin.ask(t.Context(), func(h *hall.Hall) (hall.Entry, bool) {
		var err error
		if state, err = h.Save(); err != nil {
			t.Error(err)
		}
		sequence = s.applied
		s.savePoint(time.Now())
		return hall.Entry{}, false
	})
	if err != nil {
		t.Fatal(err)
	}
	return sequence, state
}

// awaitState returns the saved state when one is saved.
func awaitState(t testing.TB, l *countingLog, sequence uint64) []byte {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case n := <-l.saved:
			if n < sequence {
				continue
			}
			_, state, err := l.LoadState(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return state
		case <-late:
			t.Fatal("the state is not saved")
		}
	}
}

// TestStateIsMadeFromTheLog: the state that is saved from the last one and the batches since then
// is the hall's own, byte for byte. It is made from nothing, from a state, and after a restart.
func TestStateIsMadeFromTheLog(t *testing.T) {
	folder := t.TempDir()
	for run := range 2 {
		srv, l, admin := openCounting(t, folder)
		ann := login(srv.connect(), "ann", "ann", "#tea")
		bob := login(srv.connect(), "bob", "bob", "#tea", "#pot")
		eve := srv.connect().Register("eve", "#tea")
		for round := range 3 {
			for _, line := range []string{"TOPIC #tea :%d", "PRIVMSG #tea :hello %d",
				"PRIVMSG bob :psst %d", "MARKREAD #tea timestamp=2026-11-2%dT07:00:00.000Z",
				"MODE #tea +b mask%d!*@*", "NICK ann%d", "METADATA * SET avatar :%d",
				"AWAY :tea %d", "CS REGISTER #tea%d", "RENAME #tea #tea%[1]d",
				"RENAME #tea%[1]d #tea", "REDACT #tea 1%d", "ACCEPT eve%d"} {
				ann.Send("CAP REQ :message-tags draft/read-marker")
				ann.Send(line, round+3*run)
			}
			synced(ann)
			bob.Send("KICK #pot eve\r\nPART #pot\r\nJOIN #pot")
			synced(bob)
			eve.Send("NICK eve%d\r\nJOIN #eve%d", round, round)
			synced(eve)
			switch round {
			case 1:
				login(srv.connect(), "ann", "phone")
				for _, words := range [][]string{{hall.Forget, "nobody", "x"},
					{hall.AddBan, "ann7!*@*", "0", "admin", "why"},
					{hall.RenameAccount, "bob", fmt.Sprint("rob", run)}} {
					_ = admin.Order(t.Context(), words[0], words[1:]...)
				}
			case 2:
				eve.Send("QUIT :bye")
				eve.ExpectEnd()
				synced(bob)
			}
			at, want := savePointNow(t, admin)
			if got := awaitState(t, l, at); !bytes.Equal(got, want) {
				t.Fatalf("run %d, round %d: the saved state is\n%s\nand that of the hall\n%s", run,
					round, got, want)
			}
			if said := srv.said.String(); bytes.Contains([]byte(said), []byte("from memory")) {
				t.Fatalf("the state was copied from memory:\n%s", said)
			}
		}
		srv.end()
	}
}

// TestStateThatCannotBeSaved: while the disk is full no state is saved. The next one is made from
// the last that was, also after kill -9.
func TestStateThatCannotBeSaved(t *testing.T) {
	folder := t.TempDir()
	srv, l, admin := openCounting(t, folder)
	ann := login(srv.connect(), "ann", "ann", "#tea")
	synced(ann)
	at, _ := savePointNow(t, admin)
	first := awaitState(t, l, at)
	l.mu.Lock()
	l.fail = syscall.ENOSPC
	l.mu.Unlock()
	ann.Send("TOPIC #tea :lost?")
	synced(ann)
	at, _ = savePointNow(t, admin)
	if still := awaitState(t, l, at); !bytes.Equal(still, first) {
		t.Error("a state is there that could not be saved")
	}
	srv.said.until(t, "the state could not be saved")
	left := killed(t, folder)
	l.mu.Lock()
	l.fail = nil
	l.mu.Unlock()
	ann.Send("PRIVMSG #tea :later")
	synced(ann)
	at, want := savePointNow(t, admin)
	if got := awaitState(t, l, at); !bytes.Equal(got, want) {
		t.Errorf("after the disk was full the saved state is\n%s\nwant\n%s", got, want)
	}
	again := open(t, left, func(c *Config) { c.Accounts = everybody{} })
	back := login(again.connect(), "ann", "ann")
	back.Send("TOPIC #tea")
	back.Expect(" 332 ann #tea :lost?")
}

// TestStateOfALogThatLacksBatches: somebody has removed batches that no saved state contains. The
// state is saved from memory then.
func TestStateOfALogThatLacksBatches(t *testing.T) {
	folder := t.TempDir()
	srv, l, admin := openCounting(t, folder)
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send("TOPIC #tea :kept")
	synced(ann)
	s := admin.running()
	if err := admin.ask(t.Context(), func(*hall.Hall) (hall.Entry, bool) {
		if err := l.Forget(t.Context(), s.applied-1); err != nil {
			t.Error(err)
		}
		return hall.Entry{}, false
	}); err != nil {
		t.Fatal(err)
	}
	at, want := savePointNow(t, admin)
	if got := awaitState(t, l, at); !bytes.Equal(got, want) {
		t.Errorf("the saved state is\n%s\nwant\n%s", got, want)
	}
	srv.said.until(t, "from memory")
	ann.Send("TOPIC #tea :later")
	synced(ann)
	at, want = savePointNow(t, admin)
	if got := awaitState(t, l, at); !bytes.Equal(got, want) {
		t.Errorf("the next state is\n%s\nwant\n%s", got, want)
	}
	if n := bytes.Count([]byte(srv.said.String()), []byte("from memory")); n != 1 {
		t.Errorf("%d states were copied from memory, want 1", n)
	}
}

// TestStatesOfACluster: each server saves states that are made from the log, and the newest stays.
func TestStatesOfACluster(t *testing.T) {
	url, sequence := startNATS(t), uint64(0)
	var state []byte
	for run := range 2 {
		var members []*member
		var logs []*countingLog
		var admins []*Admin
		for _, name := range []string{"a", "b"} {
			admin, l := &Admin{}, &countingLog{saved: make(chan uint64, 8)}
			m := &member{name: name, folder: t.TempDir(), accounts: everybody{},
				change: func(c *Config) { c.Admin = admin }}
			m.begin(t, url, func(inner log.Log) log.Log { l.Log = inner; return l })
			members, logs, admins = append(members, m), append(logs, l), append(admins, admin)
		}
		for n, m := range members {
			c := login(irctest.Dial(t, m.at), "ann"+m.name, "ann"+m.name, "#tea")
			c.Send("TOPIC #tea :%d of %s", run, m.name)
			c.Send("PING synced")
			c.Expect(" PONG ")
			at, want := savePointNow(t, admins[n])
			state = awaitState(t, logs[n], at)
			if at <= sequence || !bytes.Equal(state, want) {
				t.Errorf("%s, run %d: at %d the state is\n%s\nwant\n%s", m.name, run, at, state,
					want)
			}
			sequence = at
		}
		for _, m := range members {
			if err := m.end(t); err != nil {
				t.Error(err)
			}
			if said := m.said.String(); strings.Contains(said, "from memory") {
				t.Errorf("%s has copied a state from memory:\n%s", m.name, said)
			}
		}
	}
}

// TestWhatOneChangeWrites: a change writes one batch, whose size does not depend on how many
// accounts there are, and no state.
func TestWhatOneChangeWrites(t *testing.T) {
	sizes := map[int]int{}
	for _, accounts := range []int{3, 3000} {
		folder := t.TempDir()
		writeState(t, folder, accounts, 10)
		srv, l, _ := openCounting(t, folder)
		c := login(srv.connect(), "u0", "u0")
		synced(c)
		l.counts()
		c.Send("PRIVMSG #room0 :one change\r\nPING said")
		c.Expect("PONG chat :said")
		batches, size, states, _ := l.counts()
		if batches != 1 || states != 0 || size > 100 {
			t.Errorf("%d accounts: one change writes %d batches of %d bytes, and %d states",
				accounts, batches, size, states)
		}
		sizes[accounts] = size
		t.Logf("%d accounts: %d bytes", accounts, size)
		srv.end()
	}
	if sizes[3] != sizes[3000] {
		t.Errorf("a change writes %d bytes with 3 accounts, and %d with 3000", sizes[3],
			sizes[3000])
	}
}

// writeState saves a state with accounts that are away, in 30 rooms each, of a third as many rooms,
// and returns its size.
func writeState(t testing.TB, folder string, accounts, most int) int {
	t.Helper()
	h := hall.New(hall.Config{Server: "chat", Rooms: 100}, 0)
	rooms := max(accounts/3, 1)
	for n := range accounts {
		h.Begin(hall.Batch{Server: "chat", Run: 1, Number: uint64(n + 1), Time: 1.7e12})
		name, id := fmt.Sprint("u", n), uint64(n+1)
		h.Apply(hall.Entry{Client: id, Kind: hall.Enter, Data: fmt.Appendf(nil,
			"%s\n%s\nhost\n%s\n%s\n-\n\n+", name, name, name, name)}, nil, "")
		for k := range most {
			h.Apply(hall.Entry{Client: id, Kind: hall.Said}, &irc.Message{Command: "JOIN",
				Params: []string{fmt.Sprint("#room", (n*7+k)%rooms)}}, "")
		}
		h.Apply(hall.Entry{Client: id, Kind: hall.End, Data: []byte("+\nbye")}, nil, "")
		h.Lines()
	}
	state, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	store, err := log.Open(t.Context(), log.Options{Folder: filepath.Join(folder, "stream")})
	if err == nil {
		err = errors.Join(store.SaveState(t.Context(), 0, state), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := log.OpenText(folder)
	if err != nil {
		t.Fatal(err)
	}
	blank := bytes.Repeat([]byte(" "), 1<<20)
	blank[len(blank)-1] = '\n'
	for at := uint64(0); at < h.At(); {
		part := blank[uint64(len(blank))-min(h.At()-at, uint64(len(blank))):]
		if err := text.Write(at, part); err != nil {
			t.Fatal(err)
		}
		at += uint64(len(part))
	}
	if err := text.Close(); err != nil {
		t.Fatal(err)
	}
	return len(state)
}

// BenchmarkSave measures how long clients wait while a state is saved: how long the goroutine that
// owns the hall is kept, before (it copied the state) and now, and PINGs of a client meanwhile.
//
//	go test ./papaya/server -run '^$' -bench Save -benchtime 5x
func BenchmarkSave(b *testing.B) {
	for _, accounts := range []int{3000, 100_000} {
		b.Run(fmt.Sprint(accounts), func(b *testing.B) {
			folder := b.TempDir()
			size := writeState(b, folder, accounts, 30)
			srv, l, admin := openCounting(b, folder)
			c := login(srv.connect(), "u0", "u0")
			pings, stop := pingUntil(b, login(srv.connect(), "u7", "u7"))
			var copied, given, saved times
			for b.Loop() {
				for range 200 {
					c.Send("PRIVMSG #room1 :hello")
				}
				synced(c)
				s := admin.running()
				var at uint64
				if err := admin.ask(b.Context(), func(h *hall.Hall) (hall.Entry, bool) {
					given.measure(b, func() { s.savePoint(time.Now()) })
					at = s.applied
					return hall.Entry{}, false
				}); err != nil {
					b.Fatal(err)
				}
				saved.measure(b, func() { awaitState(b, l, at) })
			}
			stop()
			for range 3 {
				if err := admin.ask(b.Context(), func(h *hall.Hall) (hall.Entry, bool) {
					copied.measure(b, func() { h.Snapshot() })
					return hall.Entry{}, false
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/1e6, "state-MB")
			copied.report(b, "copy")
			given.report(b, "point")
			saved.report(b, "save")
			pings.report(b, "ping")
		})
	}
}
