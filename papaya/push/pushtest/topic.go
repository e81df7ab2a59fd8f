package pushtest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// A Topic takes messages as one of ntfy does, and knows nothing of their sender.
type Topic struct {
	URL     string
	token   atomic.Value // a string; empty: anybody may write
	service *Service
	got     chan Message
}

// A Message is what a topic has received, as the app shows it.
type Message struct{ Title, Text, Click, Tags, Priority string }

// Topic makes a topic at a path of the service. With a token, only its holders may write to it.
func (s *Service) Topic(path, token string) *Topic {
	p := &Topic{URL: s.URL + path, service: s, got: make(chan Message, 1000)}
	p.token.Store(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics[path] = p
	return p
}

// Token has the topic take another token from now on.
func (p *Topic) Token(token string) { p.token.Store(token) }

// Next returns the next message to the topic.
func (p *Topic) Next() Message {
	p.service.t.Helper()
	select {
	case m := <-p.got:
		return m
	case <-time.After(patience):
		p.service.t.Fatal("no message has come")
	}
	return Message{}
}

// Waiting counts the messages that Next has not returned yet.
func (p *Topic) Waiting() int { return len(p.got) }

func (p *Topic) serve(w http.ResponseWriter, r *http.Request) {
	if token := p.token.Load().(string); token != "" {
		switch r.Header.Get("Authorization") {
		case "Bearer " + token:
		case "":
			w.WriteHeader(http.StatusForbidden)
			return
		default:
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
	}
	m, err := read(r)
	if err != nil {
		p.service.t.Errorf("a message that no topic takes: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.got <- m
	fmt.Fprintln(w, `{"id":"1","event":"message"}`)
}

// read reads a message as ntfy does (docs.ntfy.sh/publish).
func read(r *http.Request) (m Message, err error) {
	if r.Method != http.MethodPost {
		return m, errors.New("the method is " + r.Method)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return m, err
	case len(body) > maxBody || len(body) == 0 || !utf8.Valid(body):
		return m, fmt.Errorf("the text is no UTF-8 of 1 to %d bytes: %q", maxBody, body)
	}
	m = Message{Text: string(body), Click: r.Header.Get("Click"), Tags: r.Header.Get("Tags"),
		Priority: r.Header.Get("Priority")}
	m.Title, err = new(mime.WordDecoder).DecodeHeader(r.Header.Get("Title"))
	return m, err
}
