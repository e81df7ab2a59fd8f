package load

// Lines of a chat, on a thread without a server or a clock.

import (
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// loneChat makes a thread of three clients in one room, of whom the first two speak.
func loneChat(t *testing.T) *chat {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	p := chatPlan(netip.MustParseAddrPort("127.0.0.1:1"), manifest.Load{Shape: manifest.Fanout,
		Connections: 3, SizeBytes: 64, Members: 3, Senders: 2})
	w, err := newWorker(&shared{parts: 1, stopFD: fd, emit: func(Event) {}, job: newChatJob(&p)},
		&p, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.poll.close)
	for i := range w.conns {
		w.conns[i].state = connOpen
	}
	return w.driver.(*chat)
}

// TestDeliveries gives clients one line each.
func TestDeliveries(t *testing.T) {
	const nobody, somewhere = 2, 1
	for _, test := range []struct {
		name           string
		reader         int
		nick, id, room int
		kind           string // none if empty
	}{
		{"right", 2, 0, 0, 0, ""},
		{"right, to the other sender", 1, 0, 0, 0, ""},
		{"its own", 0, 0, 0, 0, Extra},
		{"of one sender, under the nick of the other", 2, 1, 0, 0, WrongReply},
		{"of a client that does not speak", 1, nobody, nobody, 0, WrongReply},
		{"of another room", 2, 0, 0, somewhere, WrongReply},
	} {
		k := loneChat(t)
		text := appendText(nil, uint64(test.id), 0, 5000, k.text)
		line := fmt.Sprintf(":c%05x!c@127.0.0.1 PRIVMSG #r%05x :%s\r\n", test.nick, test.room, text)
		k.lines(&k.conns[test.reader], &k.clients[test.reader], []byte(line))
		if got := k.faults.kinds; len(got) > 1 || got[test.kind] != int64(len(got)) ||
			(test.kind == "") != (len(got) == 0) {
			t.Errorf("%s: got %v (%s), want %q", test.name, got, k.faults.first, test.kind)
		}
		want := int64(1)
		if test.kind != "" {
			want = 0
		}
		if got := k.rooms[0].come.Load(); got != want {
			t.Errorf("%s: the room has come on by %d, want %d", test.name, got, want)
		}
	}
}

// TestMessageBearsDueTime: the delay of a delivery counts from when its message was due.
func TestMessageBearsDueTime(t *testing.T) {
	k := loneChat(t)
	k.rings.at(0, 0).due = 5000
	k.now = 9000
	line := k.message(&k.conns[0], 0, 3)
	text := line[len("PRIVMSG #r00000 :00000 ") : len(line)-len("\r\n")]
	if number, stamp, ok := parseText(text); number != 3 || stamp != 5000 || !ok {
		t.Errorf("%q: got message %d of %d ns, want 3 of 5000", line, number, stamp)
	}
}

// TestUndelivered: what has not come when all threads have ended is lost, also if nothing came
// after it.
func TestUndelivered(t *testing.T) {
	k := loneChat(t)
	k.rooms[0].due.Add(10)
	k.rooms[0].come.Add(7)
	var all faults
	k.job.verify(&all)
	if all.kinds[Undelivered] != 3 {
		t.Errorf("got %v, want 3 of 10 deliveries undelivered", all.kinds)
	}
}
