package main

import (
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A service is the state that all requests share.
type service struct {
	store  *store
	next   *next // nil: there is none, and an image is stored when it is stored here
	files  map[string]file
	bounds bounds
	making chan struct{} // holds one for each thumbnail that is being made
}

// clock starts one for a request.
func (s *service) clock() *clock { return &clock{start: time.Now(), chained: s.next != nil} }

// upload receives, checks and stores an image. The whole body was read unless err is
// of receiving it.
func (s *service) upload(w http.ResponseWriter, r *http.Request, c *clock) (e entry, err error) {
	defer s.bounds.uploads.Add(-1)
	if s.bounds.uploads.Add(1) > mostUploads {
		return e, errRoom
	}
	name, content, held, err := s.receive(w, r, c.start)
	defer func() { s.bounds.give(held) }()
	if err != nil {
		return e, err
	}
	e = entry{name: clean(name), bytes: int64(len(content)), createdMS: c.start.UnixMilli(),
		content: content}
	if e.picture, err = look(content); err != nil {
		return e, err
	}
	if s.next != nil { // first, so that the services behind have every image of this one
		if err = spend(&c.next, func() error { return s.next.add(r, &e) }); err != nil {
			return e, err
		}
	}
	err = spend(&c.database, func() error { return s.store.add(r.Context(), &e) })
	if err != nil && s.next != nil {
		s.next.forget(r, e.id)
	}
	return e, err
}

// receive reads the body in either form, and returns the room that it took.
func (s *service) receive(w http.ResponseWriter, r *http.Request,
	start time.Time) (name string, content []byte, held int64, err error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	most := int64(mostBytes)
	switch {
	case err != nil:
		return "", nil, 0, errType
	case kind == "multipart/form-data" && params["boundary"] != "":
		most += mostAround
	case kind != "image/jpeg" && kind != "image/png" && kind != "image/gif" &&
		kind != "application/octet-stream":
		return "", nil, 0, errType
	}
	if r.ContentLength > most {
		return "", nil, 0, errLarge
	}
	body := &body{r.Body, http.NewResponseController(w), start.Add(requestLimit), most}
	if kind == "multipart/form-data" {
		return s.receivePart(multipart.NewReader(body, params["boundary"]))
	}
	content, held, err = s.bounds.receive(body, r.ContentLength)
	return r.URL.Query().Get("name"), content, held, err
}

// receivePart reads the one part that is an image, and skips the others.
func (s *service) receivePart(parts *multipart.Reader) (
	name string, content []byte, held int64, err error) {
	for {
		part, err := parts.NextPart()
		// not errors.Is: a body without its last line ends in an error around EOF
		if err == io.EOF && content != nil {
			return name, content, held, nil
		}
		if f := faultOf(err); err != nil && f != errBroken {
			return "", nil, held, f
		}
		if err != nil || part.FormName() == "image" && content != nil {
			return "", nil, held, errParts
		}
		if part.FormName() == "image" {
			name = part.FileName()
			if content, held, err = s.bounds.receive(part, -1); err != nil {
				return "", nil, held, err
			}
		}
	}
}

// fetch finds an image; with its bytes, for which it takes room, unless the client has them.
func (s *service) fetch(r *http.Request, path string, c *clock) (e entry, err error) {
	id, err := number(path, mostID, errAbsent)
	if err != nil {
		return e, err
	}
	known := r.Header.Get("If-None-Match")
	if known != "" || s.next != nil {
		err = spend(&c.database, func() error { e, err = s.store.get(r.Context(), id); return err })
		if err != nil || known != "" && matches(known, e.tag()) {
			return e, err
		}
	}
	if s.next != nil {
		return s.fetchNext(r, e, c)
	}
	err = spend(&c.database,
		func() error { e, err = s.store.getWhole(r.Context(), id); return err })
	if err == nil && !s.bounds.take(e.bytes) {
		return entry{}, errRoom
	}
	return e, err
}

// fetchNext is fetch where there is a next service, of an image that is known here: the last has
// the bytes that count.
func (s *service) fetchNext(r *http.Request, e entry, c *clock) (_ entry, err error) {
	if !s.bounds.take(e.bytes) {
		return entry{}, errRoom
	}
	err = spend(&c.next, func() error { e.content, err = s.next.fetch(r, e); return err })
	if err != nil {
		s.bounds.give(e.bytes)
	}
	return e, err
}

// remove deletes an image, in the next service first: if that cannot be reached, nothing has
// changed and the client can try again.
func (s *service) remove(r *http.Request, path string) error {
	id, err := number(path, mostID, errAbsent)
	if err != nil {
		return err
	}
	if s.next != nil {
		if err := s.next.remove(r, id); err != nil {
			return err
		}
	}
	return s.store.remove(r.Context(), id)
}

// thumbnail finds an image's thumbnail, or makes it. A thumbnail that cannot be stored is still
// shown.
func (s *service) thumbnail(ctx context.Context, path string) (e entry, err error) {
	id, err := number(path, mostID, errAbsent)
	if err != nil {
		return e, err
	}
	if e, err = s.store.getThumbnail(ctx, id); err != nil || e.thumbnail != nil {
		return e, err
	}
	ctx, cancel := context.WithTimeout(ctx, stallLimit)
	defer cancel()
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-ctx.Done():
		return e, errRoom
	}
	if e, err = s.store.getWhole(ctx, id); err != nil {
		return e, err
	}
	if e.thumbnailKind, e.thumbnail, err = shrink(e.picture.kind, e.content); err != nil {
		return e, errDecode
	}
	_ = s.store.keep(ctx, e)
	return e, nil
}

// list returns the page of the parameters.
func (s *service) list(ctx context.Context, limit, before string) (page, error) {
	most, err := number(limit, 100, errQuery)
	if err != nil {
		return page{}, err
	}
	below, err := number(before, mostID, errQuery)
	if err != nil {
		return page{}, err
	}
	entries, err := s.store.list(ctx, below, int(most)+1)
	return newPage(entries, int(most)), err
}

// usually has the default parameters of a list.
var usually = map[string]string{"limit": "20", "before": strconv.Itoa(mostID)}

// mostID is the greatest number that an id may be.
const mostID = 999_999_999_999_999

// number reads one from 1 to most in decimal digits, without a zero before them; otherwise
// it is this fault.
func number(text string, most int64, wrong error) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most || strings.IndexAny(text, "123456789") != 0 {
		return 0, wrong
	}
	return n, nil
}
