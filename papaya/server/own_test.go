package server

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"interleave/papaya/hall"
)

// ownBook has one password for all accounts, and no certificates. Its disk fails for a name.
type ownBook struct {
	admin *Admin
	asked atomic.Int32
}

var errMine = wrapped{errors.New("the old password is wrong\r\nQUIT :injected")}

// wrapped is an error that the client may see.
type wrapped struct{ error }

func (wrapped) Is(target error) bool { return target == ErrNotYours }

func (o *ownBook) SetPassword(_ context.Context, who Owner, old, _ string) error {
	o.asked.Add(1)
	if who.Account != "ann" || who.From == nil {
		return errors.New("of whom?")
	}
	if old != "the kettle is on" {
		return errMine
	}
	return nil
}

func (o *ownBook) Certificates(context.Context, string) ([]string, error) {
	return []string{"0a", "0b"}, nil
}

func (o *ownBook) AddCertificate(context.Context, Owner, string, string) error {
	return errors.New("/secret/place: no space left on device")
}

func (o *ownBook) RemoveCertificate(context.Context, string, string) error { return nil }

func (o *ownBook) Rename(ctx context.Context, who Owner, name, _ string) error {
	return o.admin.Order(ctx, hall.RenameAccount, who.Account, name)
}

func (o *ownBook) Tokens(context.Context, Owner) ([]string, error) {
	return []string{"0 tokens."}, nil
}

func (o *ownBook) AddToken(context.Context, Owner, string, string) (string, string, error) {
	return "", "", errMine
}

func (o *ownBook) EndTokens(context.Context, Owner, string) (int, error) { return 0, nil }

func (o *ownBook) Files(_ context.Context, account string) ([]string, error) {
	return []string{"1 files of " + account, "file 0a tea.png"}, nil
}

func (o *ownBook) RemoveFile(_ context.Context, _, id string) error {
	if id != "0a" && id != "https://chat/file/A/tea.png" {
		return errMine
	}
	return nil
}

// TestOwn: an account asks for what it may do with itself. The answers come in the order of its
// lines, and tell of failures of the server only that there was one.
func TestOwn(t *testing.T) {
	var admin Admin
	own := &ownBook{admin: &admin}
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Accounts, c.Own, c.Admin = everybody{}, own, &admin
	})
	bob := srv.connect().Register("bob", "#tea")
	ann, phone := login(srv.connect(), "ann", "ann", "#tea"), login(srv.connect(), "ann", "ann")
	ann.Send("NS :PASSWD \"the kettle is off\" \"another one\"\r\n" +
		"NS :PASSWD \"the kettle is on\" \"another one\"\r\nNS CERT LIST\r\nNS CERT ADD 0c\r\n" +
		"NS CERT DEL 0a\r\nNS FILE LIST\r\nNS FILE DEL 0a\r\n" +
		"NS FILE DEL https://chat/file/A/tea.png\r\nNS FILE DEL 0b\r\nNS RENAME zoe\r\n" +
		"PRIVMSG #tea :after all that\r\nPING end")
	var got []string
	for _, l := range ann.Expect("PONG chat :end") {
		if _, text, ok := strings.Cut(l, " :"); ok && !strings.Contains(l, " PONG ") {
			got = append(got, text)
		}
	}
	want := []string{"Not done: the old password is wrong  QUIT :injected",
		"The password is changed.", "2 certificates.", "certificate 0a", "certificate 0b",
		"That cannot be done at the moment.", "The certificate is removed.",
		"1 files of ann", "file 0a tea.png", "The file 0a is deleted.",
		"The file is deleted.", "Not done: the old password is wrong  QUIT :injected",
		"You are now logged in as zoe", "The account is renamed.", "after all that"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("ann is told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if said := srv.said.String(); own.asked.Load() != 2 || strings.Contains(said, "kettle") ||
		!strings.Contains(said, "/secret/place") {
		t.Errorf("asked %d times, and the server's log is\n%s", own.asked.Load(), said)
	}
	phone.Expect(":ann!ann@127.0.0.1 NICK zoe")
	bob.Expect(":ann!ann@127.0.0.1 NICK zoe")
	bob.Expect(":zoe!ann@127.0.0.1 PRIVMSG #tea :after all that")
	ann.Send("NS LOGOUT OTHERS")
	ann.Expect("1 ended.")
	lines := phone.ExpectEnd()
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "ERROR :Ended by zoe") {
		t.Errorf("the phone is told %q", last)
	}
	ann.Send("NS LOGOUT ALL")
	ann.ExpectEnd()
	bob.Expect(":zoe!ann@127.0.0.1 QUIT :Ended by zoe")
}
