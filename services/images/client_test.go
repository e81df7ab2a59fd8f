package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is a net: an answer that takes longer never comes.
const patience = 5 * time.Minute

// largest is the contract's bound for an image, in bytes.
const largest = 20 << 20

// A client sends requests to one server, and checks the common parts of every answer.
type client struct {
	t       *testing.T
	address string
	http    *http.Client
}

func newClient(t *testing.T, port int) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		&http.Client{Transport: transport, Timeout: patience,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			}}}
}

// An answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// A problem is the form of every error.
type problem struct {
	Type, Title, Detail string
	Status              int
}

// info is an image in lists and answers to uploads.
type info struct {
	ID                      int64
	Name, Type              string
	Bytes                   int64
	Width, Height           int
	Created, URL, Thumbnail string
}

// try sends a request, and returns an error if there is no answer.
func (c *client) try(method, path string, header map[string]string,
	body io.Reader) (*answer, error) {
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.address+path, body)
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var content bytes.Buffer
	if size := response.ContentLength; size > 0 && method != http.MethodHead {
		content.Grow(int(min(size, largest)) + bytes.MinRead)
	}
	if _, err := content.ReadFrom(response.Body); err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, response.Header, content.Bytes()}, nil
}

// ask sends a request and wants one of these statuses, in the form of such an answer.
func (c *client) ask(method, path string, header map[string]string, body []byte,
	want ...int) *answer {
	c.t.Helper()
	a, err := c.try(method, path, header, bytes.NewReader(body))
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	if !slices.Contains(want, a.status) {
		c.t.Fatalf("%s %s: got %d %.300q, want %d", method, path, a.status, a.body, want)
	}
	if err := a.wellFormed(method); err != nil {
		c.t.Errorf("%s %s: %d: %v", method, path, a.status, err)
	}
	return a
}

// wellFormed checks the common parts of answers.
func (a *answer) wellFormed(method string) error {
	if got := a.header.Get("X-Content-Type-Options"); got != "nosniff" {
		return fmt.Errorf("got X-Content-Type-Options %q, want nosniff", got)
	}
	if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "1" {
		return fmt.Errorf("got Retry-After %q, want 1", a.header.Get("Retry-After"))
	}
	if a.status < 400 || method == http.MethodHead {
		return nil
	}
	if kind, _, _ := strings.Cut(a.header.Get("Content-Type"),
		";"); kind != "application/problem+json" {
		return fmt.Errorf("got Content-Type %q and %.200q, want application/problem+json", kind,
			a.body)
	}
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		return fmt.Errorf("%q: %w", a.body, err)
	}
	if p.Status != a.status || p.Type != "about:blank" || p.Title == "" || p.Detail == "" {
		return fmt.Errorf("got the problem %+v", p)
	}
	for _, inner := range []string{"services/images", "/tmp/", "Exception", "SQLITE", ".go:",
		"node_modules"} {
		if strings.Contains(string(a.body), inner) {
			return fmt.Errorf("the problem tells clients of %q: %q", inner, a.body)
		}
	}
	return nil
}

// upload stores an image and checks the answer.
func (c *client) upload(kind, name string, content []byte) info {
	c.t.Helper()
	a := c.ask("POST", "/images?name="+name, map[string]string{"Content-Type": kind}, content, 201)
	return c.stored(a, len(content))
}

// stored reads the answer to an upload.
func (c *client) stored(a *answer, size int) info {
	c.t.Helper()
	var i info
	if err := json.Unmarshal(a.body, &i); err != nil {
		c.t.Fatalf("%q: %v", a.body, err)
	}
	url := fmt.Sprintf("/images/%d", i.ID)
	if i.URL != url || i.Thumbnail != url+"/thumbnail" || a.header.Get("Location") != url ||
		i.Bytes != int64(size) || i.Name == "" {
		c.t.Errorf("got %s and Location %q for %d bytes", a.body, a.header.Get("Location"), size)
	}
	if made, err := time.Parse("2006-01-02T15:04:05.000Z", i.Created); err != nil ||
		time.Since(made).Abs() > time.Hour {
		c.t.Errorf("got created %q (%v), want now in milliseconds, UTC", i.Created, err)
	}
	if got := a.header.Get("Server-Timing"); !timing.MatchString(got) {
		c.t.Errorf("got Server-Timing %q, want %s", got, timing)
	}
	return i
}

// list returns all images that there are, by pages.
func (c *client) list() []info {
	c.t.Helper()
	var all []info
	for next := "/images?limit=100"; next != ""; {
		var page struct {
			Images []info
			Next   *string
		}
		a := c.ask("GET", next, nil, nil, 200)
		if err := json.Unmarshal(a.body, &page); err != nil || page.Images == nil {
			c.t.Fatalf("%.300q: %v", a.body, err)
		}
		if all, next = append(all, page.Images...), ""; page.Next != nil {
			next = *page.Next
		}
		if len(all) > 100_000 {
			c.t.Fatal("the list does not end")
		}
	}
	return all
}

// form makes a multipart body of parts: name of the field, name of the file, content.
func form(parts ...[3]string) (kind string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary("the-boundary-of-this-test")
	for _, p := range parts {
		head := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, p[0])
		if p[1] != "" {
			disposition += fmt.Sprintf(`; filename="%s"`, p[1])
			head.Set("Content-Type", "application/octet-stream")
		}
		head.Set("Content-Disposition", disposition)
		part, _ := w.CreatePart(head)
		_, _ = part.Write([]byte(p[2]))
	}
	_ = w.Close()
	return w.FormDataContentType(), b.Bytes()
}
