package terminal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/client"
)

// TestSend: a file is sent to the room in which that was typed, though another one is shown when it
// has arrived, and a failure is told there.
func TestSend(t *testing.T) {
	u := newUser(t, 80, 24)
	u.connects()
	u.presses("/send a.png", "enter")
	if u.m.told != client.ErrNoFileHost.Error() || len(u.m.Uploads) != 0 {
		t.Errorf("without a file host: %q, %v", u.m.told, u.m.Uploads)
	}
	u.hears(":x 005 ann draft/FILEHOST=https://x/upload :are supported")
	u.presses("enter")
	if u.m.told != client.ErrNoAccount.Error() || len(u.m.Uploads) != 0 {
		t.Errorf("without an account: %q, %v", u.m.told, u.m.Uploads)
	}
	room := u.m.session.Active()
	file := Upload{Room: room, Path: "pictures/tea pot.png"}
	u.hears(":ann!ann@host JOIN #coffee")
	u.m.look(u.m.session.Find("#coffee"))
	u.take(Uploaded{Upload: file, Link: "https://x/file/T/tea%20pot.png"})
	if last := u.sent[len(u.sent)-1]; !strings.HasSuffix(last,
		"PRIVMSG #tea https://x/file/T/tea%20pot.png") {
		t.Errorf("sent %q", last)
	}
	u.take(Uploaded{Upload: file, Err: errors.New("the file is larger than 1 B")})
	if !slices.ContainsFunc(room.Messages, func(m *client.Message) bool {
		return m.Text == "tea pot.png was not sent: the file is larger than 1 B"
	}) {
		t.Error("the failure is not told in the room")
	}
}
