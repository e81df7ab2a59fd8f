package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// A fullDisk is a log that can be full.
type fullDisk struct {
	log.Log
	full    atomic.Bool
	refused atomic.Int32 // batches
}

func (d *fullDisk) Append(ctx context.Context, batch []byte) (uint64, error) {
	if d.full.Load() {
		d.refused.Add(1)
		return 0, fmt.Errorf("%w: %w", log.ErrRefused,
			&os.PathError{Op: "write", Path: "/secret/place", Err: syscall.ENOSPC})
	}
	return d.Log.Append(ctx, batch)
}

// killed returns a copy of a server's folder, as kill -9 leaves it at this moment.
func killed(t *testing.T, folder string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asks returns the answers to questions about what lasts.
func asks(c *irctest.Client) string {
	c.Send("MARKREAD #tea\r\nTOPIC #tea\r\nMODE #tea\r\nMODE ann\r\n" +
		"METADATA ann LIST\r\nMETADATA #tea LIST\r\nACCEPT *\r\nCS INFO #tea\r\n" +
		"CHATHISTORY LATEST #tea * 50\r\nPING asked")
	var lines []string
	for _, l := range c.Expect("PONG chat :asked") {
		if strings.Contains(l, " 329 ") || strings.Contains(l, " 333 ") {
			continue // times
		}
		lines = append(lines, varying.ReplaceAllString(l, "BATCH"))
	}
	return strings.Join(lines, "\n")
}

// TestFullDisk: while the log cannot be written, nothing that is to last is acknowledged, and
// nobody hears of it. After kill -9 at that moment, all is as it was told. People come and go
// meanwhile.
func TestFullDisk(t *testing.T) {
	folder, admin := t.TempDir(), &Admin{}
	var disk *fullDisk
	change := func(c *Config) {
		disk = &fullDisk{Log: c.Log}
		c.Accounts, c.Admin, c.Log = everybody{}, admin, disk
	}
	const caps = "CAP REQ :draft/read-marker message-tags batch draft/chathistory"
	srv := open(t, folder, change)
	ann := login(srv.connect(), "ann", "ann", "#tea")
	phone := login(srv.connect(), "ann", "phone")
	bob := srv.connect().Register("bob", "#tea")
	for _, c := range []*irctest.Client{ann, phone} {
		c.Send(caps)
		c.Expect(" ACK ")
	}
	const before, after = "2026-11-22T07:00:00.000Z", "2026-11-22T08:00:00.000Z"
	ann.Send("TOPIC #tea :before\r\nMARKREAD #tea timestamp=" + before)
	ann.Expect("MARKREAD #tea timestamp=" + before)
	phone.Expect("MARKREAD #tea timestamp=" + before)
	was := asks(ann)

	disk.full.Store(true)
	const later = "FAIL %s TEMPORARILY_UNAVAILABLE %s :The log says: no space left on device"
	for _, l := range [][2]string{
		{"MARKREAD #tea timestamp=" + after,
			"FAIL MARKREAD INTERNAL_ERROR #tea :The log says: no space left on device"},
		{"TOPIC #tea :lost", " 404 ann #tea :Cannot send to channel: no space left on device"},
		{"PRIVMSG #tea,bob :lost", " 404 ann bob :Cannot send to channel: no space"},
		{"MODE #tea +ib lost!*@*", fmt.Sprintf(later, "MODE", "#tea")},
		{"MODE ann +iB", fmt.Sprintf(later, "MODE", "ann")},
		{"KICK #tea bob :lost", fmt.Sprintf(later, "KICK", "#tea")},
		{"INVITE eve #tea", fmt.Sprintf(later, "INVITE", "eve")},
		{"ACCEPT eve", fmt.Sprintf(later, "ACCEPT", "eve")},
		{"SETNAME :lost", "FAIL SETNAME CANNOT_CHANGE_REALNAME :The log says: no space"},
		{"METADATA * SET avatar :lost", fmt.Sprintf(later, "METADATA", "*")},
		{"METADATA #tea SET avatar :lost", fmt.Sprintf(later, "METADATA", "#tea")},
		{"RENAME #tea #lost", "FAIL RENAME CANNOT_RENAME #tea #lost :The log says: no space"},
		{"CS TRANSFER #tea ann2", "NOTICE ann :Not done. The log says: no space left on device"},
	} {
		ann.Send("%s\r\nPING told", l[0])
		if heard := strings.Join(ann.Expect("PONG chat :told"), "\n"); !strings.Contains(heard,
			l[1]) {
			t.Errorf("%s: heard\n%s", l[0], heard)
		}
	}
	for _, words := range [][]string{{hall.KickMember, "#tea", "bob", "lost"},
		{hall.RemoveRoom, "#tea", "lost"}, {hall.Forget, "ann", "lost"},
		{hall.RenameAccount, "ann", "lost"}, {hall.PostTo, "#tea", "hook/ci", "lost"}} {
		err := admin.Order(t.Context(), words[0], words[1:]...)
		if !errors.Is(err, log.ErrRefused) || strings.Contains(err.Error(), "secret") ||
			!strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%s: %v", words[0], err)
		}
	}
	ann.Send("AWAY :for tea")
	ann.Expect(" 306 ")
	eve := srv.connect().Register("eve", "#pot")
	if err := admin.Order(t.Context(), hall.EndNick, "eve", "enough"); err != nil {
		t.Errorf("the end of a session: %v", err)
	}
	eve.ExpectEnd()
	for _, c := range []*irctest.Client{bob, phone} {
		c.Send("PING synced")
		heard := c.Expect("PONG chat :synced")
		lacks(t, heard, "lost")
		lacks(t, heard, after)
	}
	if is := asks(ann); is != was {
		t.Errorf("was\n%s\nand is\n%s", was, is)
	}
	left := killed(t, folder)

	disk.full.Store(false)
	ann.Send("PRIVMSG #tea :room again\r\nMARKREAD #tea timestamp=" + after)
	bob.Expect("PRIVMSG #tea :room again")
	ann.Expect("MARKREAD #tea timestamp=" + after)
	phone.Expect("MARKREAD #tea timestamp=" + after)
	told := strings.Count(srv.said.String(), "the log refuses a batch")
	if n := int(disk.refused.Load()); told != n || n == 0 {
		t.Errorf("%d batches were refused, and the log of the server has %d of them", n, told)
	}
	is := asks(ann)
	for _, restart := range []struct{ folder, want string }{{left, was}, {killed(t, folder), is}} {
		again := open(t, restart.folder, func(c *Config) { c.Accounts = everybody{} })
		ann := login(again.connect(), "ann", "ann", "#tea")
		ann.Send(caps)
		ann.Expect(" ACK ")
		synced(ann)
		if got := asks(ann); got != restart.want {
			t.Errorf("after kill -9:\n%s\nwant\n%s", got, restart.want)
		}
	}
}
