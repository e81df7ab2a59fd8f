package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"interleave/papaya/fence"
)

// Bounds of a request. All are guesses.
const (
	maxRedirects = 5
	maxHeader    = 32 << 10  // of an answer, in bytes
	maxPage      = 512 << 10 // of HTML, in bytes
	maxImage     = 5 << 20   // in bytes
	// maxWire bounds what a connection brings: the image with all that is around it.
	maxWire       = maxImage + 1<<20
	dialTime      = 5 * time.Second
	handshakeTime = 5 * time.Second
	headerTime    = 10 * time.Second
)

var (
	errRedirects = errors.New("too many redirects")
	errEncoding  = errors.New("the answer is compressed, which was not asked for")
	errWire      = errors.New("the connection has brought too many bytes")
	errSize      = errors.New("the image is too large")
)

// newTransport makes what sends requests. It uses no proxy, keeps neither cookies nor connections,
// and speaks HTTP/1.1. It asks for no compression, so that few bytes cannot become many. Without a
// resolver it uses that of the system.
func newTransport(f fence.Fence, names *net.Resolver) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime, Control: f.Control, Resolver: names}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &boundedConn{Conn: c, left: maxWire}, nil
		},
		DisableKeepAlives: true, DisableCompression: true,
		TLSHandshakeTimeout: handshakeTime, ResponseHeaderTimeout: headerTime,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// A boundedConn fails when it has brought too many bytes. One goroutine reads it.
type boundedConn struct {
	net.Conn
	left int
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errWire
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// The header Accept of a page and of an image.
const (
	acceptPage  = "text/html,application/xhtml+xml;q=0.9,image/*;q=0.8,*/*;q=0.1"
	acceptImage = "image/webp,image/png,image/jpeg,image/gif;q=0.9"
)

// get fetches a link, and follows redirects, each of which is judged as the link was. The caller
// closes the body.
func (s *Service) get(ctx context.Context, link, accept string) (*http.Response, error) {
	for range maxRedirects + 1 {
		u, err := s.judge(link)
		if err != nil {
			return nil, err
		}
		if _, ok := s.hosts.Take(strings.ToLower(u.Hostname())); !ok {
			return nil, errMany
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, errLink
		}
		r.Header.Set("User-Agent", s.Agent)
		r.Header.Set("Accept", accept)
		a, err := s.transport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if a.StatusCode == http.StatusOK {
			if e := a.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
				_ = a.Body.Close()
				return nil, errEncoding
			}
			return a, nil
		}
		_ = a.Body.Close()
		to, err := redirect(a)
		if err != nil {
			return nil, err
		}
		link = to
	}
	return nil, errRedirects
}

// redirect returns where an answer leads.
func redirect(a *http.Response) (string, error) {
	switch a.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := a.Location()
		if err != nil {
			return "", errLink
		}
		return to.String(), nil
	}
	return "", fmt.Errorf("status %d", a.StatusCode)
}

// fetch makes the preview of a link, except that it is not told to anybody yet.
func (s *Service) fetch(ctx context.Context, link string) (p Preview, err error) {
	a, err := s.get(ctx, link, acceptPage)
	if err != nil {
		return p, err
	}
	defer a.Body.Close()
	p.URL = link
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		found := readPage(io.LimitReader(a.Body, maxPage), a.Header.Get("Content-Type"))
		_ = a.Body.Close()
		p.Site, p.Title, p.Text = found.site(), found.title(), found.text()
		if err = s.addImage(ctx, &p, found.image(a.Request.URL)); err != nil {
			s.Logger.Debug("a preview has no image", "reason", bare(err))
		}
	case strings.HasPrefix(kind, "image/"):
		err = s.keepImage(ctx, &p, a.Body)
	}
	if p.Title == "" && p.Text == "" && p.Image == "" {
		return p, errors.Join(errNothing, err)
	}
	return p, nil
}

// addImage fetches the image of a page. An empty link is none.
func (s *Service) addImage(ctx context.Context, p *Preview, link string) error {
	if link == "" {
		return nil
	}
	a, err := s.get(ctx, link, acceptImage)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	return s.keepImage(ctx, p, a.Body)
}

// keepImage stores an image, made small. Its content decides whether it is one.
func (s *Service) keepImage(ctx context.Context, p *Preview, body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxImage+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxImage:
		return errSize
	}
	small, err := s.Shrink(ctx, bytes.NewReader(data))
	if err != nil {
		return err
	}
	if small.Width < minImage || small.Height < minImage {
		return errNothing // such an image only counts its readers
	}
	token, err := s.Images.Add(small.Data)
	if err != nil {
		return err
	}
	p.Image, p.Width, p.Height = token, small.Width, small.Height
	return nil
}

// minImage is in pixels: a smaller image shows nothing. A guess.
const minImage = 16

// absolute returns a link of a page, which may be relative, or nothing.
func absolute(base *url.URL, link string) string {
	if link == "" || len(link) > maxURL {
		return ""
	}
	u, err := base.Parse(strings.TrimSpace(link))
	if err != nil {
		return ""
	}
	return u.String()
}
