package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
)

// A FileHost is where the server takes files, and the account that sends them.
type FileHost struct{ URL, account, password string }

// The reasons for which no files can be sent.
var (
	ErrNoFileHost = errors.New("this server takes no files")
	ErrNoAccount  = errors.New("sign in to an account to send files")
)

// FileHost returns where the server takes files (draft/FILEHOST, soju.im/FILEHOST).
func (s *Session) FileHost() (FileHost, error) {
	switch {
	case s.support.filehost == "":
		return FileHost{}, ErrNoFileHost
	case s.settings.Account == "" || s.settings.Password == "":
		return FileHost{}, ErrNoAccount
	}
	return FileHost{s.support.filehost, s.settings.Account, s.settings.Password}, nil
}

// maxAnswer bounds the answer to an upload in bytes.
const maxAnswer = 64 << 10

// Upload sends a file, and returns its link. The certificate must be that of the server at addr in
// pins, or be trusted by the system.
func (h FileHost) Upload(ctx context.Context, pins *Pins, addr, path string) (string, error) {
	to, err := url.Parse(h.URL)
	if err != nil || to.Scheme != "https" { // the password must not be read on the way
		return "", errors.New("the server names no https address for files")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, f)
	if err != nil {
		return "", err
	}
	r.ContentLength = info.Size()
	r.SetBasicAuth(h.account, h.password)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": filepath.Base(path)}))
	// A redirect would send the password to somebody else.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := http.Client{CheckRedirect: stay,
		Transport: &http.Transport{TLSClientConfig: pins.https(addr, to.Hostname()),
			DisableKeepAlives: true}}
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	return linkIn(to, answer)
}

// linkIn returns the link in the answer to an upload, or why there is none.
func linkIn(to *url.URL, answer *http.Response) (string, error) {
	if answer.StatusCode == http.StatusCreated {
		link, err := to.Parse(answer.Header.Get("Location"))
		if err != nil || link.String() == to.String() {
			return "", errors.New("the server has answered without a link")
		}
		return link.String(), nil
	}
	var told struct {
		Error string `json:"error"`
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err == nil && json.Unmarshal(text, &told) == nil && told.Error != "" {
		return "", errors.New(told.Error)
	}
	return "", fmt.Errorf("the server has answered %s", answer.Status)
}
