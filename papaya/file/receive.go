package file

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"
)

// A body must come within grace and the time that it takes at slowest bytes per second, which is
// less than a phone's connection has. Both are guesses.
const (
	grace   = 30 * time.Second
	slowest = 8 << 10
)

// drainTime and drainMost bound what is read of a body that is refused: a browser shows the answer
// only if it could send all of it. Both are guesses.
const (
	drainTime = 10 * time.Second
	drainMost = 64 << 20
)

// overhead bounds in bytes what a form has beside its file.
const overhead = 64 << 10

// within is the time that a transfer of n bytes may take.
func within(n int64) time.Duration {
	return grace + time.Duration(n/slowest)*time.Second
}

// A paced body fails when it comes too slowly.
type paced struct {
	body    io.Reader
	control *http.ResponseController
	begun   time.Time
	n       int64
	err     error // of the body, but for its end
}

func (p *paced) Read(b []byte) (int, error) {
	// Tests may have connections without deadlines.
	_ = p.control.SetReadDeadline(p.begun.Add(within(p.n)))
	n, err := p.body.Read(b)
	p.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return n, err
}

var (
	errForm = refusal{http.StatusBadRequest, "the form is malformed"}
	errOne  = refusal{http.StatusBadRequest, "expected one file, as the body or in a form"}
	errCut  = refusal{http.StatusBadRequest, "the upload has ended before the file was complete"}
	errSlow = refusal{http.StatusRequestTimeout, "the upload was too slow"}
)

// receive stores the file of a request, and returns its link.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) (i Info, link string, err error) {
	limits := s.Store.limits()
	if limits.Size == 0 {
		return i, "", errOff
	}
	owner, err := s.owner(r)
	if err != nil {
		return i, "", err
	}
	body := &paced{body: http.MaxBytesReader(w, r.Body, limits.Size+overhead),
		control: http.NewResponseController(w), begun: time.Now()}
	defer func() {
		if err != nil && body.err == nil && r.Header.Get("Expect") == "" {
			body.drain(r.Body)
		}
	}()
	leave, err := s.enter(owner)
	if err != nil {
		return i, "", err
	}
	defer leave()
	name, part, size, err := open(r, body)
	if err != nil {
		return i, "", err
	}
	u, err := s.Store.Begin(owner, size)
	if err != nil {
		return i, "", err
	}
	defer u.Abort()
	if _, err = io.Copy(u, part); err == nil {
		err = part.end()
	}
	if err != nil {
		return i, "", body.explain(err, limits.Size)
	}
	i, token, err := u.Commit(r.Context(), name)
	return i, s.Base + linkPath + token + "/" + segment(i.Name), err
}

// explain makes a failure of the body a refusal.
func (p *paced) explain(err error, most int64) error {
	switch {
	case errors.As(p.err, new(*http.MaxBytesError)):
		return tooLarge(most)
	case isTimeout(p.err):
		return errSlow
	case p.err != nil:
		return errCut
	case errors.Is(err, io.ErrUnexpectedEOF): // of a form
		return errCut
	}
	return err
}

// drain reads the rest of a body that was refused.
func (p *paced) drain(rest io.Reader) {
	_ = p.control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, rest, drainMost)
}

// A content is the file in a request.
type content struct {
	io.Reader
	form *multipart.Reader // nil: the body is the file
}

// end says whether nothing but the file was in the request, and all of it.
func (c content) end() error {
	if c.form == nil {
		return nil
	}
	_, err := c.form.NextPart()
	switch {
	case err == nil:
		return errOne
	case errors.Is(err, io.EOF):
		return nil
	}
	return errForm
}

// open finds the file in a request, and the name that the uploader gives it. The file is the body,
// as FILEHOST has it, or the part of a form, as some clients send it. size is -1 if it is unknown.
func open(r *http.Request, body io.Reader) (name string, c content, size int64, err error) {
	// What is no type, or is of another, does not count: the content will tell.
	kind, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return nameIn(r.Header.Get("Content-Disposition")), content{Reader: body},
			r.ContentLength, nil
	}
	boundary := parameters["boundary"]
	if boundary == "" {
		return "", c, 0, errForm
	}
	form := multipart.NewReader(body, boundary)
	part, err := form.NextRawPart()
	if errors.Is(err, io.EOF) {
		return "", c, 0, errOne
	}
	if err != nil {
		return "", c, 0, errForm
	}
	if part.FileName() == "" {
		return "", c, 0, errOne
	}
	return nameIn(part.Header.Get("Content-Disposition")), content{part, form}, -1, nil
}

// nameIn returns the file name of a header Content-Disposition (RFC 6266), or nothing.
func nameIn(header string) string {
	_, parameters, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return parameters["filename"]
}
