package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The limits of one message. A document is sent as a whole when it is opened, so a message may be
// large. Both are guesses, far above what editors send.
const (
	maxMessage = 64 << 20 // bytes
	maxHeader  = 4 << 10  // bytes of all header fields
)

// A message is a request, a notification or a response: JSON-RPC 2.0, section 4 and 5.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// An rpcError is the error of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// The codes of errors: JSON-RPC 2.0, section 5.1, and LSP 3.17, "Response Message".
const (
	parseError           = -32700
	invalidRequest       = -32600
	methodNotFound       = -32601
	invalidParams        = -32602
	internalError        = -32603
	serverNotInitialized = -32002
	requestCancelled     = -32800
	requestFailed        = -32803
)

// failed is the error of a request that was understood and cannot be fulfilled.
func failed(format string, args ...any) error {
	return &rpcError{requestFailed, fmt.Sprintf(format, args...)}
}

// readMessage reads the content of one message: LSP 3.17, "Base Protocol". The error is io.EOF at
// the end of the input between two messages. After any other error the stream is out of step.
func readMessage(r *bufio.Reader) ([]byte, error) {
	length, left := -1, maxHeader
	for {
		line, err := readLine(r, left)
		switch {
		case errors.Is(err, io.EOF) && line == "" && left == maxHeader:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("reading the header of a message: %w", err)
		}
		left -= len(line)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q is not a header field", line)
		}
		if strings.EqualFold(name, "Content-Length") {
			length, err = strconv.Atoi(strings.TrimSpace(value))
			if err != nil || length < 0 {
				return nil, fmt.Errorf("%q is not the length of a message", value)
			}
		}
	}
	switch {
	case length < 0:
		return nil, errors.New("a message has no Content-Length")
	case length > maxMessage:
		return nil, fmt.Errorf("a message of %d bytes exceeds the limit of %d", length, maxMessage)
	}
	content := make([]byte, length)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, fmt.Errorf("reading a message of %d bytes: %w", length, err)
	}
	return content, nil
}

// readLine reads a line of at most limit bytes, with its end.
func readLine(r *bufio.Reader, limit int) (string, error) {
	var line []byte
	for {
		b, err := r.ReadByte()
		if err != nil {
			return string(line), err
		}
		line = append(line, b)
		if b == '\n' {
			return string(line), nil
		}
		if len(line) >= limit {
			return "", fmt.Errorf("it is longer than %d bytes", maxHeader)
		}
	}
}

// writeMessage writes one message.
func writeMessage(w io.Writer, m *message) error {
	m.Version = "2.0"
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(content), content)
	return err
}

// parseMessage reads the JSON of a message. The error is for the response.
func parseMessage(content []byte) (*message, *rpcError) {
	if !json.Valid(content) {
		return nil, &rpcError{parseError, "the message is not JSON"}
	}
	m := &message{}
	if err := json.Unmarshal(content, m); err != nil {
		return nil, &rpcError{invalidRequest, "the message is not a request: " + err.Error()}
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	if m.ID != nil && m.ID[0] != '"' && !isNumber(m.ID) {
		return nil, &rpcError{invalidRequest, "an id is a number or a string"}
	}
	if m.Version != "2.0" {
		return nil, &rpcError{invalidRequest, `jsonrpc is not "2.0"`}
	}
	return m, nil
}

func isNumber(raw json.RawMessage) bool {
	return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9'
}
