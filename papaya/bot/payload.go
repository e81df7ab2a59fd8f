package bot

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// A refusal is an answer that is no success.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

var (
	errType = refusal{http.StatusUnsupportedMediaType,
		"expected application/json, application/x-www-form-urlencoded or text/plain in UTF-8"}
	errPayload = refusal{http.StatusBadRequest, `expected {"text": "..."} or the payload of GitHub`}
	errEmpty   = refusal{http.StatusBadRequest, "there is no text that can be shown"}
)

// payload makes the lines of what was posted to a webhook. There are none of an event that is not
// shown.
func payload(h http.Header, body []byte) ([]string, error) {
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil ||
		charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, errType
	}
	switch kind {
	case "text/plain":
		return visible(string(body))
	case "application/json":
		return jsonPayload(h, body)
	case "application/x-www-form-urlencoded":
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) { // curl -d '{"text": "..."}'
			return jsonPayload(h, body)
		}
		form, err := url.ParseQuery(string(body))
		switch {
		case err != nil:
			return nil, errPayload
		case form.Has("payload"): // GitHub's default
			return jsonPayload(h, []byte(form.Get("payload")))
		case form.Has("text"):
			return visible(form.Get("text"))
		}
		return nil, errPayload
	}
	return nil, errType
}

func jsonPayload(h http.Header, body []byte) ([]string, error) {
	if kind := h.Get("X-GitHub-Event"); kind != "" {
		line, err := github(kind, body)
		if err != nil {
			return nil, refusal{http.StatusBadRequest, err.Error()}
		}
		return Lines(line), nil
	}
	var p struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(body, &p); err != nil || p.Text == nil {
		return nil, errPayload // the cause would contain a part of the body
	}
	return visible(*p.Text)
}

// visible returns the lines of a text, of which there must be one.
func visible(text string) ([]string, error) {
	lines := Lines(text)
	if len(lines) == 0 {
		return nil, errEmpty
	}
	return lines, nil
}

// refused is the status of an error and the text that may be shown.
func refused(err error) (status int, why string) {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.status, r.why
	}
	return http.StatusServiceUnavailable, "that cannot be done at the moment"
}
