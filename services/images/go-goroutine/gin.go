//go:build gin

// Images keeps pictures in a database, behind Gin: a goroutine for each connection, and a framework
// that routes, reads parameters and writes JSON. Without the tag gin, nethttp.go stands in this
// file's place, and it is the model go-goroutine-nethttp. The contract is
// services/images/README.md.
package main

import (
	"bytes"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// routes is the table of contents of the service.
func routes(s *service) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RedirectTrailingSlash = false
	engine.HandleMethodNotAllowed = true
	engine.Use(func(c *gin.Context) { c.Header("X-Content-Type-Options", "nosniff") })
	engine.NoRoute(func(c *gin.Context) { refuse(c, errPath) })
	engine.NoMethod(func(c *gin.Context) {
		refuse(c, &fault{http.StatusMethodNotAllowed, "of this path one may ask " +
			c.Writer.Header().Get("Allow")})
	})
	read := []string{http.MethodGet, http.MethodHead}
	engine.Match(read, "/images", s.getList)
	engine.POST("/images", s.post)
	engine.Match(read, "/images/:id", s.get)
	engine.DELETE("/images/:id", s.delete)
	engine.Match(read, "/images/:id/thumbnail", s.getThumbnail)
	engine.Match(read, "/healthz", s.getHealth)
	for name, f := range s.files {
		engine.Match(read, "/"+name, f.get)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		engine.ServeHTTP(paced{w, http.NewResponseController(w), time.Now().Add(requestLimit)}, r)
	})
}

func (s *service) post(c *gin.Context) {
	clock := s.clock()
	e, err := s.upload(c.Writer, c.Request, clock)
	if err != nil {
		c.Header("Connection", "close") // the rest of the body is not read
		refuse(c, err)
		return
	}
	c.Header("Location", e.info().URL)
	c.Header("Server-Timing", clock.String())
	c.JSON(http.StatusCreated, e.info())
}

func (s *service) getList(c *gin.Context) {
	p, err := s.list(c.Request.Context(), c.DefaultQuery("limit", usually["limit"]),
		c.DefaultQuery("before", usually["before"]))
	if err != nil {
		refuse(c, err)
		return
	}
	c.JSON(http.StatusOK, p)
}

func (s *service) get(c *gin.Context) {
	clock := s.clock()
	e, err := s.fetch(c.Request, c.Param("id"), clock)
	if err != nil {
		refuse(c, err)
		return
	}
	defer s.bounds.give(int64(len(e.content)))
	c.Header("Server-Timing", clock.String())
	c.Header("Content-Disposition", disposition(e.name))
	show(c, e.tag(), e.picture.kind, e.content)
}

func (s *service) getThumbnail(c *gin.Context) {
	e, err := s.thumbnail(c.Request.Context(), c.Param("id"))
	if err != nil {
		refuse(c, err)
		return
	}
	show(c, e.thumbnailTag(), e.thumbnailKind, e.thumbnail)
}

func (s *service) delete(c *gin.Context) {
	if err := s.remove(c.Request, c.Param("id")); err != nil {
		refuse(c, err)
		return
	}
	c.Status(http.StatusNoContent)
}

func (s *service) getHealth(c *gin.Context) {
	if err := s.store.answers(c.Request.Context()); err != nil {
		refuse(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"status": "ok"})
}

func (f file) get(c *gin.Context) {
	c.Header("Cache-Control", "no-cache")
	c.Header("Content-Security-Policy", policy)
	c.Data(http.StatusOK, f.kind, f.content)
}

// show answers with content, a part of it, or that the client has it.
func show(c *gin.Context, tag, kind string, content []byte) {
	c.Header("ETag", tag)
	c.Header("Content-Type", kind)
	c.Header("Cache-Control", "no-cache")
	http.ServeContent(&ranged{ResponseWriter: c.Writer, context: c}, c.Request, "", time.Time{},
		bytes.NewReader(content))
}

// Ranged answers an impossible range with a problem, as all errors are.
type ranged struct {
	http.ResponseWriter
	context *gin.Context
	refused bool
}

func (r *ranged) WriteHeader(status int) {
	if r.refused = status == http.StatusRequestedRangeNotSatisfiable; r.refused {
		refuse(r.context, errRange)
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
func refuse(c *gin.Context, err error) {
	f := faultOf(err)
	if f.status == http.StatusServiceUnavailable {
		c.Header("Retry-After", "1")
	}
	c.Header("Content-Type", "application/problem+json")
	c.JSON(f.status, newProblem(f.status, f.text))
}
