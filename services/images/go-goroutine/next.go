package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

const (
	nextConnections = 64               // to the next service; a request waits for a free one
	nextLimit       = 10 * time.Second // for all of its answer, waiting for a connection included
	// that a connection to it is kept unused, less than servers keep theirs
	nextIdle     = 30 * time.Second
	mostServices = 16       // in a chain: more are a ring
	mostSaid     = 64 << 10 // bytes of an answer that is no image
)

// A next is the service behind this one in a chain. This service stores only images that the next
// has stored, and fetches their bytes from it.
type next struct {
	base   string
	client *http.Client
}

// nextForm is the form of its URL.
var nextForm = regexp.MustCompile(`^http://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,4})$`)

// newNext reads the word.
func newNext(word string) (*next, error) {
	parts := nextForm.FindStringSubmatch(word)
	if parts == nil || len(parts[1]) == len("65535") && parts[1] > "65535" {
		return nil, fmt.Errorf("the next service: expected http://HOST:PORT, got %q", word)
	}
	return &next{word, &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: nextLimit}).DialContext,
			MaxConnsPerHost:     nextConnections,
			MaxIdleConnsPerHost: nextConnections,
			IdleConnTimeout:     nextIdle,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		},
		Timeout: nextLimit,
	}}, nil
}

// add stores an image in the next service, and all behind it, under the id and the time that the
// last of them gives it.
func (n *next) add(r *http.Request, e *entry) error {
	text, err := n.ask(r, http.MethodPost, "/images?name="+url.QueryEscape(e.name), e,
		http.StatusCreated, mostSaid)
	if err == errAbsent { // it is another service
		return errNext
	}
	if err != nil {
		return err
	}
	var said info
	if json.Unmarshal(text, &said) != nil || said.ID < 1 || said.ID > mostID {
		return errNext
	}
	created, err := time.Parse(timeForm, said.Created)
	if err != nil {
		return errNext
	}
	e.id, e.createdMS = said.ID, created.UnixMilli()
	return nil
}

// fetch returns the bytes of an image that is known here.
func (n *next) fetch(r *http.Request, e entry) ([]byte, error) {
	content, err := n.ask(r, http.MethodGet, e.info().URL, nil, http.StatusOK, e.bytes)
	if err == nil && int64(len(content)) != e.bytes {
		return nil, errNext
	}
	return content, err
}

// remove deletes an image there; one that is gone already is no error.
func (n *next) remove(r *http.Request, id int64) error {
	_, err := n.ask(r, http.MethodDelete, entry{id: id}.info().URL, nil, http.StatusNoContent, 0)
	if err == errAbsent {
		return nil
	}
	return err
}

// forget deletes an image that the next service has stored and this one could not store. If that
// fails, too, the image stays there, unknown to any client.
func (n *next) forget(r *http.Request, id int64) {
	_ = n.remove(r.WithContext(context.WithoutCancel(r.Context())), id)
}

// ask passes a request on, and reads an answer of this status and at most so many bytes.
func (n *next) ask(r *http.Request, method, path string, e *entry, want int,
	most int64) ([]byte, error) {
	via := r.Header.Values("Via")
	if strings.Count(strings.Join(via, ","), ",")+min(1, len(via)) >= mostServices-1 {
		return nil, errRing
	}
	var body io.Reader
	if e != nil {
		body = bytes.NewReader(e.content)
	}
	out, err := http.NewRequestWithContext(r.Context(), method, n.base+path, body)
	if err != nil {
		return nil, errNext
	}
	out.Header["Via"] = append(via[:len(via):len(via)], "1.1 images")
	if e != nil {
		out.Header.Set("Content-Type", e.picture.kind)
	}
	answer, err := n.client.Do(out)
	if err != nil {
		return nil, nextFault(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != want {
		return nil, refusedByNext(answer)
	}
	var content bytes.Buffer
	content.Grow(int(min(max(0, answer.ContentLength), most)) + bytes.MinRead)
	switch got, err := content.ReadFrom(io.LimitReader(answer.Body, most+1)); {
	case err != nil:
		return nil, nextFault(err)
	case got > most:
		return nil, errNext
	}
	return content.Bytes(), nil
}

// nextFault is the fault if the next service has not answered.
func nextFault(err error) error {
	if t, ok := errors.AsType[net.Error](err); errors.Is(err, os.ErrDeadlineExceeded) ||
		ok && t.Timeout() {
		return errNextLate
	}
	return errNext
}

// refusedByNext is the fault if the next service has answered with another status. Temporary
// faults, and those that its owner must fix, are passed on.
func refusedByNext(answer *http.Response) error {
	_, _ = io.CopyN(io.Discard, answer.Body, mostSaid) // so that the connection can be used again
	switch answer.StatusCode {
	case http.StatusNotFound:
		return errAbsent
	case http.StatusServiceUnavailable:
		return errNextBusy
	case http.StatusGatewayTimeout:
		return errNextLate
	case http.StatusInsufficientStorage:
		return errNextFull
	case http.StatusLoopDetected:
		return errRing
	}
	return errNext
}
