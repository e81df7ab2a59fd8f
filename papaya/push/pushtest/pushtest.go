// Package pushtest has a push service for tests (RFC 8030). Devices subscribe to it, and read what
// they are sent as browsers do: it must be encrypted for them (RFC 8188, RFC 8291), and the sender
// must have signed the request (RFC 8292). It has topics as those of ntfy, too. It knows nothing of
// the sender.
package pushtest

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is a net for a push to arrive.
const patience = 5 * time.Minute

// maxBody is the size of a push that services must take (RFC 8030 section 7.2).
const maxBody = 4096

// A Service is a push service.
type Service struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	devices map[string]*Device // by path
	topics  map[string]*Topic  // by path
	answer  http.HandlerFunc
	asked   int
}

// New starts a push service, with TLS or without, until the test ends.
func New(t testing.TB, secure bool) *Service {
	s := &Service{t: t, devices: map[string]*Device{}, topics: map[string]*Topic{}}
	if secure {
		s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	} else {
		s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	}
	t.Cleanup(s.Close)
	return s
}

// Answer has a handler answer all requests from now on; nil: pushes are delivered again.
func (s *Service) Answer(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Status has all requests answered with a status from now on; 0: pushes are delivered again.
func (s *Service) Status(code int) {
	if code == 0 {
		s.Answer(nil)
		return
	}
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// Asked counts the requests so far.
func (s *Service) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// A Device is subscribed to a push service.
type Device struct {
	Endpoint string
	private  *ecdh.PrivateKey
	auth     [authSize]byte
	service  *Service
	got      chan Push
}

// A Push is what a device has received.
type Push struct {
	Text    string
	Sender  string // the public key (VAPID) of the sender
	Subject string // its contact
	Urgency string
	TTL     time.Duration
	Size    int // of the body, in bytes
}

// Device subscribes a device.
func (s *Service) Device() *Device {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	d := &Device{private: private, service: s, got: make(chan Push, 1000)}
	_, _ = rand.Read(d.auth[:]) // it never fails
	path := "/push/" + rand.Text()
	d.Endpoint = s.URL + path
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[path] = d
	return d
}

// P256dh returns the device's public key as browsers have it.
func (d *Device) P256dh() string {
	return base64.RawURLEncoding.EncodeToString(d.private.PublicKey().Bytes())
}

// Auth returns the device's secret as browsers have it.
func (d *Device) Auth() string { return base64.RawURLEncoding.EncodeToString(d.auth[:]) }

// Keys are the last parameter of WEBPUSH REGISTER.
func (d *Device) Keys() string { return "p256dh=" + d.P256dh() + ";auth=" + d.Auth() }

// Next returns the next push to the device.
func (d *Device) Next() Push {
	d.service.t.Helper()
	select {
	case p := <-d.got:
		return p
	case <-time.After(patience):
		d.service.t.Fatal("no push has come")
	}
	return Push{}
}

// Waiting counts the pushes that Next has not returned yet.
func (d *Device) Waiting() int { return len(d.got) }

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked++
	d, topic, answer := s.devices[r.URL.Path], s.topics[r.URL.Path], s.answer
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
		return
	case topic != nil:
		topic.serve(w, r)
		return
	case d == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	p, err := d.take(r, s.URL)
	if err != nil {
		s.t.Errorf("a push that no device could read: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.got <- p
	w.Header().Set("Location", s.URL+"/message/"+rand.Text())
	w.WriteHeader(http.StatusCreated)
}

// take reads a request as a push service and the device together do.
func (d *Device) take(r *http.Request, audience string) (p Push, err error) {
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" {
		return p, fmt.Errorf("%s with the encoding %q", r.Method, r.Header.Get("Content-Encoding"))
	}
	seconds, err := strconv.Atoi(r.Header.Get("TTL"))
	if err != nil || seconds < 0 {
		return p, fmt.Errorf("the TTL is %q", r.Header.Get("TTL"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the body has more than %d bytes", maxBody)
	}
	if err != nil {
		return p, err
	}
	p.TTL, p.Size = time.Duration(seconds)*time.Second, len(body)
	p.Urgency = r.Header.Get("Urgency")
	if p.Sender, p.Subject, err = Verify(r.Header.Get("Authorization"), audience,
		time.Now()); err != nil {
		return p, err
	}
	text, err := Decrypt(d.private, d.auth[:], body)
	p.Text = strings.Clone(string(text))
	return p, err
}
