package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"interleave/papaya/account"
)

// A Client talks to the server of a data folder.
type Client struct {
	folder string
	http   *http.Client
}

// ErrNobody means that no server runs on the folder.
var ErrNobody = errors.New("no server runs on this folder")

// Dial returns a Client if a server runs on folder.
func Dial(ctx context.Context, folder string) (*Client, error) {
	c := &Client{folder: folder}
	c.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.dial(ctx)
		}}}
	conn, err := c.dial(ctx)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", folder, ErrNobody)
	}
	if err != nil {
		return nil, err
	}
	return c, conn.Close() // only to see whether a server listens
}

func (c *Client) dial(ctx context.Context) (conn net.Conn, err error) {
	err = withSocket(c.folder, func(path string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

func (c *Client) post(ctx context.Context, path string, q request) (answer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://papaya"+path,
		bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	var a answer
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return a, fmt.Errorf("%s: %s: %w", path, response.Status, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// get copies the response for a path to w.
func (c *Client) get(ctx context.Context, path string, w io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://papaya"+path, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		return err
	}
	if text := response.Trailer.Get(trailer); text != "" {
		return errors.New(text)
	}
	return nil
}

// Add implements Accounts, as the methods below do.
func (c *Client) Add(ctx context.Context, name string, role account.Role,
	password account.Secret) error {
	_, err := c.post(ctx, "/accounts/add", request{Name: name, Role: role,
		Password: password.Reveal()})
	return err
}

// Remove implements Accounts.
func (c *Client) Remove(ctx context.Context, name string) error {
	_, err := c.post(ctx, "/accounts/remove", request{Name: name})
	return err
}

// Rename implements Accounts.
func (c *Client) Rename(ctx context.Context, old, name string) error {
	_, err := c.post(ctx, "/accounts/rename", request{Name: old, New: name})
	return err
}

// SetPassword implements Accounts.
func (c *Client) SetPassword(ctx context.Context, name string, password account.Secret) error {
	_, err := c.post(ctx, "/accounts/password", request{Name: name, Password: password.Reveal()})
	return err
}

// SetRole implements Accounts.
func (c *Client) SetRole(ctx context.Context, name string, role account.Role) error {
	_, err := c.post(ctx, "/accounts/role", request{Name: name, Role: role})
	return err
}

// AddCertificate implements Accounts.
func (c *Client) AddCertificate(ctx context.Context, name, fingerprint string) error {
	_, err := c.post(ctx, "/accounts/add-certificate",
		request{Name: name, Fingerprint: fingerprint})
	return err
}

// RemoveCertificate implements Accounts.
func (c *Client) RemoveCertificate(ctx context.Context, name, fingerprint string) error {
	_, err := c.post(ctx, "/accounts/remove-certificate",
		request{Name: name, Fingerprint: fingerprint})
	return err
}

// TokensOf implements Accounts.
func (c *Client) TokensOf(ctx context.Context, name string) ([]account.Token, error) {
	a, err := c.post(ctx, "/accounts/tokens", request{Name: name})
	return a.SignIns, err
}

// EndToken implements Accounts.
func (c *Client) EndToken(ctx context.Context, name, id string) error {
	_, err := c.post(ctx, "/accounts/end-token", request{Name: name, ID: id})
	return err
}

// List implements Accounts.
func (c *Client) List(ctx context.Context) ([]account.Account, error) {
	a, err := c.post(ctx, "/accounts/list", request{})
	return a.Accounts, err
}

// Invite implements Accounts.
func (c *Client) Invite(ctx context.Context, by string, role account.Role,
	life time.Duration) (account.Secret, account.Invitation, error) {
	a, err := c.post(ctx, "/accounts/invite", request{By: by, Role: role, Life: life})
	if err != nil {
		return account.Secret{}, account.Invitation{}, err
	}
	if len(a.Invitations) != 1 {
		return account.Secret{}, account.Invitation{},
			errors.New("the server has answered without an invitation")
	}
	return account.NewSecret(a.Token), a.Invitations[0], nil
}

// Invitations implements Accounts.
func (c *Client) Invitations(ctx context.Context) ([]account.Invitation, error) {
	a, err := c.post(ctx, "/accounts/invitations", request{})
	return a.Invitations, err
}

// TakeBack implements Accounts.
func (c *Client) TakeBack(ctx context.Context, id string) error {
	_, err := c.post(ctx, "/accounts/take-back", request{ID: id})
	return err
}

// Reload makes the server read its settings again.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	a, err := c.post(ctx, "/reload", request{})
	if err != nil {
		return Reloaded{}, err
	}
	if a.Reload == nil {
		return Reloaded{}, errors.New("the server has answered without saying what has changed")
	}
	return *a.Reload, nil
}

// Backup writes a backup to w. After an error it is incomplete.
func (c *Client) Backup(ctx context.Context, w io.Writer) error { return c.get(ctx, "/backup", w) }

// Metrics writes the metrics of the server.
func (c *Client) Metrics(ctx context.Context, w io.Writer) error {
	return c.get(ctx, "/metrics", w)
}
