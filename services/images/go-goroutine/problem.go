package main

import (
	"errors"
	"net/http"
	"os"
)

// A problem is an error in the form for clients: RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func newProblem(status int, detail string) problem {
	return problem{"about:blank", http.StatusText(status), status, detail}
}

// A fault is an error with its status; its text is for clients.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

var (
	errAbsent = &fault{http.StatusNotFound, "there is no such image"}
	errPath   = &fault{http.StatusNotFound, "there is nothing at this path"}
	errQuery  = &fault{http.StatusBadRequest, "limit is 1 to 100, and before the id of an image"}
	errType   = &fault{http.StatusUnsupportedMediaType,
		"expected Content-Type image/jpeg, image/png, image/gif, application/octet-stream or " +
			"multipart/form-data"}
	errEmpty = &fault{http.StatusBadRequest, "the body is empty: expected the bytes of an image"}
	errParts = &fault{http.StatusBadRequest,
		`expected a whole multipart body with one part "image"`}
	errBroken = &fault{http.StatusBadRequest, "the body cannot be read to its end"}
	errSlow   = &fault{http.StatusRequestTimeout, "the body does not come to its end"}
	errLarge  = &fault{http.StatusRequestEntityTooLarge, "an image has at most 20 MiB"}
	errKind   = &fault{http.StatusUnsupportedMediaType, "the bytes are no JPEG, PNG or GIF"}
	errWhole  = &fault{http.StatusUnprocessableEntity, "the image is damaged or not whole"}
	errPixels = &fault{http.StatusUnprocessableEntity, "the image has more than 50,000,000 pixels"}
	errDecode = &fault{http.StatusUnprocessableEntity, "the image cannot be decoded"}
	errRange  = &fault{http.StatusRequestedRangeNotSatisfiable, "the range begins beyond the end"}
	errRoom   = &fault{http.StatusServiceUnavailable, "too much is under way"}
	errGone   = &fault{http.StatusServiceUnavailable, "the database cannot be asked"}
	errFull   = &fault{http.StatusInsufficientStorage, "the database has no room"}

	errNext     = &fault{http.StatusBadGateway, "the next service of the chain cannot be asked"}
	errNextLate = &fault{http.StatusGatewayTimeout,
		"the next service of the chain does not answer in time"}
	errNextBusy = &fault{http.StatusServiceUnavailable,
		"a service further along the chain has too much under way"}
	errNextFull = &fault{http.StatusInsufficientStorage,
		"a service further along the chain has no room"}
	errRing = &fault{http.StatusLoopDetected,
		"the chain has more than 16 services, or is a ring"}
)

// faultOf returns the fault of an error. All other errors came from reading a body.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errSlow
	}
	return errBroken
}
