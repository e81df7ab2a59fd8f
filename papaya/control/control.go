// Package control lets an administrator talk to a running server, by HTTP over a Unix socket in the
// data folder. The socket has mode 0600, in a folder of mode 0700, so only the server's own user
// and root can open it. They may do everything.
package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/bans"
	"interleave/papaya/bot"
	"interleave/papaya/file"
	"interleave/papaya/hall"
)

// Accounts are the operations on accounts. account.Book does them in this process; a Client asks a
// server.
type Accounts interface {
	Add(ctx context.Context, name string, role account.Role, password account.Secret) error
	Remove(ctx context.Context, name string) error
	Rename(ctx context.Context, old, name string) error
	SetPassword(ctx context.Context, name string, password account.Secret) error
	SetRole(ctx context.Context, name string, role account.Role) error
	AddCertificate(ctx context.Context, name, fingerprint string) error
	RemoveCertificate(ctx context.Context, name, fingerprint string) error
	TokensOf(ctx context.Context, name string) ([]account.Token, error)
	EndToken(ctx context.Context, name, id string) error
	List(ctx context.Context) ([]account.Account, error)
	Invite(ctx context.Context, by string, role account.Role, life time.Duration) (account.Secret,
		account.Invitation, error)
	Invitations(ctx context.Context) ([]account.Invitation, error)
	TakeBack(ctx context.Context, id string) error
}

// Chat is a view of the chat, and the orders to it. server.Admin implements it.
type Chat interface {
	Sessions(ctx context.Context) ([]hall.Session, error)
	Rooms(ctx context.Context) ([]hall.Room, error)
	Order(ctx context.Context, verb string, words ...string) error
}

// A request is about accounts. The password is not hidden: only one user can open the socket.
type request struct {
	Name        string        `json:"name,omitempty"`
	New         string        `json:"new,omitempty"`
	Role        account.Role  `json:"role,omitempty"`
	Password    string        `json:"password,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	By          string        `json:"by,omitempty"`
	Life        time.Duration `json:"life,omitempty"`
	ID          string        `json:"id,omitempty"`
	Words       []string      `json:"words,omitempty"`
	Bot         bot.Token     `json:"bot,omitzero"`
}

// An answer is the response to a request.
type answer struct {
	Error       string               `json:"error,omitempty"`
	Accounts    []account.Account    `json:"accounts,omitempty"`
	Invitations []account.Invitation `json:"invitations,omitempty"`
	Token       string               `json:"token,omitempty"`
	Tokens      []bot.Token          `json:"tokens,omitempty"`
	SignIns     []account.Token      `json:"sign_ins,omitempty"`
	Reload      *Reloaded            `json:"reload,omitempty"`
	Sessions    []hall.Session       `json:"sessions,omitempty"`
	Rooms       []hall.Room          `json:"rooms,omitempty"`
	Lines       int                  `json:"lines,omitempty"`
	Files       []file.Info          `json:"files,omitempty"`
	Bans        []bans.Ban           `json:"bans,omitempty"`
}

// Reloaded is the result of a reload.
type Reloaded struct {
	Live  []string `json:"live"`  // settings that have changed
	Later []string `json:"later"` // settings that change with the next start
}

// socketName is the socket's name in the data folder.
const socketName = "control.sock"

// maxSocket is the longest path of a Unix socket in bytes (unix(7): 108 with a NUL).
const maxSocket = 107

// withSocket calls f with a path of the socket that is short enough. If the path is too long, it
// goes through the folder's descriptor.
func withSocket(folder string, f func(path string) error) error {
	path := filepath.Join(folder, socketName)
	if len(path) <= maxSocket {
		return f(path)
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName))
}

// Listen opens the socket. The caller has locked the folder, so an existing socket is left from a
// server that has died.
func Listen(folder string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(folder, socketName)); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var l net.Listener
	err := withSocket(folder, func(path string) (err error) {
		if l, err = net.Listen("unix", path); err != nil {
			return err
		}
		// The path may not exist any more by then. The next start removes the socket.
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		return nil, fmt.Errorf("the socket for papaya admin: %w", err)
	}
	return l, nil
}
