package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/hall"
)

// ownDevices keeps no devices. It says what it is told.
type ownDevices struct{ told chan string }

func (o ownDevices) PublicKey() string { return "BKEY" }

func (o ownDevices) Wants(string) bool { return true }

func (o ownDevices) Missed(n hall.Notice) { o.told <- n.Account + " missed " + n.Text }

func (o ownDevices) Seen(account, target string, _ int64) {
	o.told <- account + " has seen " + target
}

func (o ownDevices) Removed(uint64) { o.told <- "removed" }

func (o ownDevices) Register(_ context.Context, account, endpoint, keys string) error {
	switch {
	case account != "ann" || keys != "p256dh=BA;auth=AA":
		return errors.New("of whom?")
	case strings.Contains(endpoint, "many"):
		return ErrManyDevices
	case strings.Contains(endpoint, "wrong"):
		return errMine
	case strings.Contains(endpoint, "disk"):
		return errors.New("/secret/place: no space left on device")
	}
	return nil
}

func (o ownDevices) AddTopic(ctx context.Context, account, topic, token string) error {
	if token != "tk_1" {
		return errMine
	}
	return o.Register(ctx, account, topic, "p256dh=BA;auth=AA")
}

func (o ownDevices) Unregister(context.Context, string, string) error { return nil }

func (o ownDevices) Devices(account string) []string { return []string{"devices of " + account} }

func (o ownDevices) RemoveDevice(_ context.Context, _, id string) error {
	if id != "0a" {
		return errMine
	}
	return nil
}

// TestPush: requests about devices are answered in the order of the client's lines, and the
// failures of the server are told as such. What accounts have missed before a restart is not told
// again.
func TestPush(t *testing.T) {
	folder, own := t.TempDir(), ownDevices{make(chan string, 100)}
	change := func(c *Config) {
		c.Accounts, c.Push, c.AlwaysOn = everybody{}, own, func() bool { return true }
	}
	srv := open(t, folder, change)
	bob := srv.connect().Register("bob")
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send("WEBPUSH REGISTER https://a.example/ p256dh=BA;auth=AA\r\n" +
		"WEBPUSH REGISTER https://many.example/ p256dh=BA;auth=AA\r\n" +
		"WEBPUSH REGISTER https://wrong.example/ p256dh=BA;auth=AA\r\n" +
		"WEBPUSH REGISTER https://disk.example/ p256dh=BA;auth=AA\r\n" +
		"WEBPUSH UNREGISTER https://a.example/\r\nNS PUSH LIST\r\nNS PUSH DEL 0a\r\n" +
		"NS PUSH DEL 0b\r\nNS PUSH ADD https://a.example/tea tk_1\r\n" +
		"NS PUSH ADD https://a.example/tea\r\nNS PUSH ADD https://disk.example/tea tk_1\r\n" +
		"PING end")
	got := ann.Expect("PONG chat :end")
	want := []string{
		":chat WEBPUSH REGISTER https://a.example/",
		":chat FAIL WEBPUSH MAX_REGISTRATIONS REGISTER https://many.example/ :There are too many " +
			"devices: NS PUSH LIST lists them",
		":chat FAIL WEBPUSH INVALID_PARAMS REGISTER https://wrong.example/ :the old password is " +
			"wrong  QUIT :injected",
		":chat FAIL WEBPUSH INTERNAL_ERROR REGISTER https://disk.example/ :That cannot be done " +
			"at the moment",
		":chat WEBPUSH UNREGISTER https://a.example/",
		":NickServ!NickServ@chat NOTICE ann :devices of ann",
		":NickServ!NickServ@chat NOTICE ann :The device is not notified any more.",
		":NickServ!NickServ@chat NOTICE ann :Not done: the old password is wrong  QUIT :injected",
		":NickServ!NickServ@chat NOTICE ann :The topic is notified, as its first message says.",
		":NickServ!NickServ@chat NOTICE ann :Not done: the old password is wrong  QUIT :injected",
		":NickServ!NickServ@chat NOTICE ann :That cannot be done at the moment.",
	}
	if !slices.Equal(got[:len(got)-1], want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(srv.said.String(), "/secret/place") {
		t.Error("a failure is not logged")
	}
	ann.Send("QUIT")
	ann.ExpectEnd()
	bob.Send("PRIVMSG ann :one")
	synced(bob)
	srv.end()
	srv = open(t, folder, change)
	bob = srv.connect().Register("bob")
	bob.Send("PRIVMSG ann :two")
	synced(bob)
	srv.end()
	close(own.told)
	var told []string
	for one := range own.told {
		told = append(told, one)
	}
	if !slices.Equal(told, []string{"ann missed one", "ann missed two"}) {
		t.Errorf("told %q", told)
	}
}
