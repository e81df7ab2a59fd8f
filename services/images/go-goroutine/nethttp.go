//go:build !gin

// Images keeps pictures in a database, on net/http alone: a goroutine for each connection, plain
// blocking code, and a line for every limit. The contract is services/images/README.md.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"time"
)

// routes is the table of contents of the service. A method that a path has not is answered by the
// same path without one.
func routes(s *service) http.Handler {
	mux := http.NewServeMux()
	for _, r := range []struct {
		pattern string
		handler http.HandlerFunc
	}{
		{"GET /images", s.getList}, {"POST /images", s.post}, {"/images", other("GET, HEAD, POST")},
		{"GET /images/{id}", s.get}, {"DELETE /images/{id}", s.delete},
		{"/images/{id}", other("GET, HEAD, DELETE")},
		{"GET /images/{id}/thumbnail", s.getThumbnail}, {"/images/{id}/thumbnail",
			other("GET, HEAD")},
		{"GET /healthz", s.getHealth}, {"/healthz", other("GET, HEAD")},
		{"/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, errPath) }},
	} {
		mux.HandleFunc(r.pattern, r.handler)
	}
	for name, f := range s.files {
		path := "/" + cmp.Or(name, "{$}")
		mux.Handle("GET "+path, f)
		mux.HandleFunc(path, other("GET, HEAD"))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(paced{w, http.NewResponseController(w), time.Now().Add(requestLimit)}, r)
	})
}

func other(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allow)
		refuse(w, &fault{http.StatusMethodNotAllowed, "of this path one may ask " + allow})
	}
}

func (s *service) post(w http.ResponseWriter, r *http.Request) {
	clock := s.clock()
	e, err := s.upload(w, r, clock)
	if err != nil {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		refuse(w, err)
		return
	}
	w.Header().Set("Location", e.info().URL)
	w.Header().Set("Server-Timing", clock.String())
	answer(w, http.StatusCreated, "application/json", e.info())
}

func (s *service) getList(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for name, usual := range usually {
		if !query.Has(name) {
			query.Set(name, usual)
		}
	}
	p, err := s.list(r.Context(), query.Get("limit"), query.Get("before"))
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, "application/json", p)
}

func (s *service) get(w http.ResponseWriter, r *http.Request) {
	clock := s.clock()
	e, err := s.fetch(r, r.PathValue("id"), clock)
	if err != nil {
		refuse(w, err)
		return
	}
	defer s.bounds.give(int64(len(e.content)))
	w.Header().Set("Server-Timing", clock.String())
	w.Header().Set("Content-Disposition", disposition(e.name))
	show(w, r, e.tag(), e.picture.kind, e.content)
}

func (s *service) getThumbnail(w http.ResponseWriter, r *http.Request) {
	e, err := s.thumbnail(r.Context(), r.PathValue("id"))
	if err != nil {
		refuse(w, err)
		return
	}
	show(w, r, e.thumbnailTag(), e.thumbnailKind, e.thumbnail)
}

func (s *service) delete(w http.ResponseWriter, r *http.Request) {
	if err := s.remove(r, r.PathValue("id")); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *service) getHealth(w http.ResponseWriter, r *http.Request) {
	if err := s.store.answers(r.Context()); err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}

func (f file) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Security-Policy", policy)
	_, _ = w.Write(f.content) // a client that has gone sees nothing
}

// show answers with content, a part of it, or that the client has it.
func show(w http.ResponseWriter, r *http.Request, tag, kind string, content []byte) {
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(&ranged{ResponseWriter: w}, r, "", time.Time{}, bytes.NewReader(content))
}

// Ranged answers an impossible range with a problem, as all errors are.
type ranged struct {
	http.ResponseWriter
	refused bool
}

func (r *ranged) WriteHeader(status int) {
	if r.refused = status == http.StatusRequestedRangeNotSatisfiable; r.refused {
		refuse(r.ResponseWriter, errRange)
		return
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *ranged) Write(b []byte) (int, error) {
	if r.refused {
		return len(b), nil
	}
	return r.ResponseWriter.Write(b)
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, err error) {
	f := faultOf(err)
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, f.status, "application/problem+json", newProblem(f.status, f.text))
}

func answer(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // no value of ours can be refused
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has gone hears nothing
}
