package file

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// A refusal is an answer that is no success: the status of HTTP, and a text for the user.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

var (
	errEmpty = refusal{http.StatusBadRequest, "the file is empty"}
	errMany  = refusal{http.StatusInsufficientStorage,
		"the server has as many files as it takes"}
	errFull = refusal{http.StatusInsufficientStorage, "the server's disk is full"}
	errBusy = refusal{http.StatusServiceUnavailable, "the server is busy: try again"}
)

func tooLarge(limit int64) error {
	return refusal{http.StatusRequestEntityTooLarge,
		"the file is larger than " + Bytes(limit) + ", which is the limit"}
}

func tooMuch(limit int64) error {
	return refusal{http.StatusInsufficientStorage, "your files would take more than " +
		Bytes(limit) + ", which is the limit: delete messages with some of them"}
}

func allTaken(limit int64) error {
	return refusal{http.StatusInsufficientStorage, "the files of this server would take more " +
		"than " + Bytes(limit) + ", which is its limit"}
}

func tooManyPixels(width, height, limit int) error {
	return refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the image has %d × %d pixels; "+
		"the limit is %s million", width, height, strconv.FormatFloat(float64(limit)/1e6, 'f', -1,
		64))}
}

// limited is the error of a request too many.
type limited struct{ wait time.Duration }

func (limited) Error() string { return "too many requests: try again later" }

// isFull says whether an error is that of a full disk, or of a quota that is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Bytes formats a number of bytes for people: "25 MiB", "1.5 KiB".
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	digits := 0
	if u > 0 && f < 10 && f != float64(int64(f)) {
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + units[u]
}
