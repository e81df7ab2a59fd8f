package file

import (
	"errors"
	"net/http"
	"time"

	"interleave/papaya/bot"
	"interleave/papaya/irc"
)

// The owner of files lists them at /files, and deletes one at its link or at /files/ID. The request
// has the account's name and password, or a program's token, as an upload has.

// An owner may make 60 such requests at once, and then one in a second. A guess.
const (
	manageBurst = 60
	manageEvery = time.Second
)

// maxListed is how many files one answer has, the newest. A guess.
const maxListed = 1000

var (
	errGone   = refusal{http.StatusNotFound, "there is no such file, or not any more"}
	errOthers = refusal{http.StatusForbidden, "a file is deleted by the account that has sent it"}
)

// An ownFile is a file as its owner sees it. Its link is known to the messages with it only.
type ownFile struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Type string    `json:"type"`
	Size int64     `json:"size"`
	Made time.Time `json:"made"`
}

// A listing is the answer to GET /files.
type listing struct {
	Files []ownFile `json:"files"`
	Count int       `json:"count"` // of all files
	Used  int64     `json:"used"`
	Limit int64     `json:"limit"`
	Left  int64     `json:"left"`
}

// manager returns whose files a request may list and delete.
func (s *Server) manager(w http.ResponseWriter, r *http.Request, method string) (string, error) {
	s.permit(w, r, method)
	owner, err := s.owner(r)
	if err != nil {
		return "", err
	}
	if wait, ok := s.managed.Take(irc.Lower(owner)); !ok {
		return "", limited{wait}
	}
	return owner, nil
}

// list lists the owner's files.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	owner, err := s.manager(w, r, http.MethodGet)
	if err != nil {
		s.refuse(w, r, err, "files could not be listed")
		return
	}
	all := s.Store.Owned(owner)
	answer := listing{[]ownFile{}, len(all.Files), all.Used, all.Limit, all.Left}
	for _, i := range all.Files[:min(len(all.Files), maxListed)] {
		answer.Files = append(answer.Files, ownFile{i.ID, i.Name, i.Type, i.Size, i.Made})
	}
	bot.Reply(w, http.StatusOK, answer)
}

// deleteLink deletes the file of a link. Whoever knows the link may know that the file is there, so
// another account is told that the file is not its own.
func (s *Server) deleteLink(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	s.delete(w, r, func(owner string) (Info, error) {
		if _, there := s.Store.Find(token); !there {
			return Info{}, errGone
		}
		i, err := s.Store.RemoveLink(token, owner)
		if errors.Is(err, ErrNone) {
			err = errOthers
		}
		return i, err
	})
}

// deleteID deletes the file of an ID.
func (s *Server) deleteID(w http.ResponseWriter, r *http.Request) {
	s.delete(w, r, func(owner string) (Info, error) {
		i, err := s.Store.RemoveOwn(r.PathValue("id"), owner)
		if errors.Is(err, ErrNone) {
			err = errGone
		}
		return i, err
	})
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request,
	remove func(owner string) (Info, error)) {
	owner, err := s.manager(w, r, http.MethodDelete)
	var i Info
	if err == nil {
		i, err = remove(owner)
	}
	if err != nil {
		s.refuse(w, r, err, "a file could not be deleted")
		return
	}
	LogDeleted(s.Logger, i)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
