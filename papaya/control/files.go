package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"interleave/papaya/file"
)

// Files are the operations on files. StoredFiles does them in this process; a FileClient asks a
// server.
type Files interface {
	List(ctx context.Context) ([]file.Info, error)
	Remove(ctx context.Context, id string) error
}

// StoredFiles implements Files.
type StoredFiles struct{ Store *file.Store }

// List implements Files.
func (s StoredFiles) List(context.Context) ([]file.Info, error) { return s.Store.List(), nil }

// Remove implements Files.
func (s StoredFiles) Remove(_ context.Context, id string) error { return s.Store.Remove(id) }

// files handles requests about files.
func (s *Server) files(w http.ResponseWriter, r *http.Request) {
	q, ok := parse(w, r)
	if !ok {
		return
	}
	var a answer
	var err error
	verb := r.PathValue("verb")
	switch {
	case s.Files == nil:
		err = errors.New("this server has no files")
	case verb == "list":
		a.Files, err = s.Files.List(r.Context())
	case verb == "remove":
		err = s.Files.Remove(r.Context(), q.ID)
	default:
		err = fmt.Errorf("no verb %.40q", verb)
	}
	if err != nil {
		a.Error = err.Error()
	}
	s.Logger.Info("admin", "verb", "file "+verb, "id", q.ID, "error", a.Error)
	reply(w, a)
}

// A FileClient is the part of a Client that is about files.
type FileClient struct{ client *Client }

// Files returns the part of the client that is about files.
func (c *Client) Files() FileClient { return FileClient{c} }

// List implements Files, as the method below does.
func (c FileClient) List(ctx context.Context) ([]file.Info, error) {
	a, err := c.client.post(ctx, "/files/list", request{})
	return a.Files, err
}

// Remove implements Files.
func (c FileClient) Remove(ctx context.Context, id string) error {
	_, err := c.client.post(ctx, "/files/remove", request{ID: id})
	return err
}
