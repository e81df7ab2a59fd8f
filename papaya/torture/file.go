package torture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net/http"

	"interleave/papaya/checker"
	"interleave/papaya/irc"
)

// A link is that of a file whose upload was acknowledged.
type link struct{ url, server string }

// browser is a client of HTTP for the campaign's own servers, at ports of this machine, so their
// certificates need not be verified.
func browser() *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// bytesOf returns the bytes of a file: mostly a few KiB, sometimes so many that a kill may come in
// the middle.
func (w *worker) bytesOf() []byte {
	size := 1 + w.dice.IntN(16<<10)
	if w.dice.IntN(4) == 0 {
		size = 256<<10 + w.dice.IntN(1<<20)
	}
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(w.dice.Uint32())
	}
	return data
}

// send uploads a file and says its link.
func (w *worker) send(ctx context.Context) error {
	at, ok, err := w.upload(ctx, w.bytesOf())
	if err != nil || !ok {
		return err
	}
	w.campaign.keepLink(link{at, w.server.name})
	in := one(w.dice, w.account.conversations)
	text := w.campaign.word() + " " + at
	c, err := w.begin(&checker.Event{Do: checker.Say, In: in, Text: text, Link: at},
		irc.Message{Command: "PRIVMSG", Params: []string{w.target(in), text}})
	if err != nil {
		return err
	}
	_, err = w.end(c, echoed(text))
	return err
}

// upload posts a file as FILEHOST has it.
func (w *worker) upload(ctx context.Context, data []byte) (at string, ok bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"https://"+w.server.web+"/upload", bytes.NewReader(data))
	if err != nil {
		return "", false, err
	}
	r.SetBasicAuth(w.account.name, w.account.password)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Disposition", "attachment; filename=fruit.bin")
	op, err := w.invoke(checker.Event{Do: checker.Upload, Sum: sum(data),
		Size: int64(len(data))})
	if err != nil {
		return "", false, err
	}
	e := checker.Event{Op: op, Type: checker.Unknown}
	defer func() { w.campaign.record.tell(e) }()
	answer, err := w.campaign.browser.Do(r)
	if err != nil {
		e.Why = err.Error()
		return "", false, nil //nolint:nilerr // the server was killed: the outcome is unknown
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		e.Type, e.Why = checker.Fail, answer.Status
		return "", false, nil
	}
	e.Type, e.Link = checker.OK, answer.Header.Get("Location")
	return e.Link, true, nil
}

// invoke records the beginning of an operation that needs no line of IRC.
func (s *session) invoke(e checker.Event) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return 0, errOffline
	}
	e.Session = s.name
	return s.campaign.record.invoke(e), nil
}

// fetchSome fetches one of the files that were sent.
func (w *worker) fetchSome(ctx context.Context) error {
	if all := w.campaign.allLinks(); len(all) > 0 {
		return w.fetch(ctx, one(w.dice, all))
	}
	return nil
}

// maxFetched is in bytes, more than any file has.
const maxFetched = 8 << 20

func (s *session) fetch(ctx context.Context, l link) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, http.NoBody)
	if err != nil {
		return err
	}
	op, err := s.invoke(checker.Event{Do: checker.Fetch, Link: l.url, Server: l.server})
	if err != nil {
		return err
	}
	e := checker.Event{Op: op, Type: checker.Unknown}
	defer func() { s.campaign.record.tell(e) }()
	answer, err := s.campaign.browser.Do(r)
	if err != nil {
		e.Why = err.Error()
		return nil //nolint:nilerr // the server was killed
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNotFound:
		e.Type, e.Gone = checker.OK, true
	case http.StatusOK:
		data, err := io.ReadAll(io.LimitReader(answer.Body, maxFetched))
		if err != nil { // the server was killed meanwhile
			e.Why = err.Error()
			return nil //nolint:nilerr // as above
		}
		e.Type, e.Sum, e.Size = checker.OK, sum(data), int64(len(data))
	default:
		e.Type, e.Why = checker.Fail, answer.Status
	}
	return nil
}

// sum returns the SHA-256 of bytes in hex.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
