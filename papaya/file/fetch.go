package file

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"interleave/papaya/bot"
)

// policy keeps a file from doing anything in the origin of the page: it runs no script, loads
// nothing but itself, and has an origin of its own (sandbox). Browsers show media by a page that
// they make, with its own styles.
const policy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// What a link may ask for by its query, instead of the file.
const (
	wantThumbnail = "thumbnail"
	wantFacts     = "facts"
)

// facts are what the page shows of a file.
type facts struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Width  int    `json:"width,omitempty"` // of the thumbnail
	Height int    `json:"height,omitempty"`
}

// Confine sets the headers of an answer that has what somebody has sent: nothing of it runs, and no
// search engine lists it.
func Confine(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	// A browser asks before it uses its copy, since the file may have been removed.
	h.Set("Cache-Control", "private, no-cache")
}

// fetch serves a file, its thumbnail, or what is known of it. The token in the link is the right to
// it. The name is only for people: that of the stored file counts.
func (s *Server) fetch(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	Confine(h)
	token := r.PathValue("token")
	i, ok := s.Store.Find(token)
	if ok && r.URL.RawQuery == wantFacts {
		bot.Reply(w, http.StatusOK, facts{i.Name, i.Type, i.Size, i.Width, i.Height})
		return
	}
	part, kind, how := dataName, i.Type, "attachment"
	if shown[i.Type] != "" {
		how = "inline"
	}
	if r.URL.RawQuery == wantThumbnail {
		part, kind, how, ok = thumbnailName, "image/jpeg", "inline", ok && i.Thumbnail > 0
	}
	var f *os.File
	if ok {
		var err error
		if f, err = s.Store.open(token, part); err != nil { // it may have been removed just now
			s.Logger.Debug("a file cannot be opened", "file", i.ID, "reason", err)
			ok = false
		}
	}
	if !ok {
		http.Error(w, "There is no such file, or not any more.", http.StatusNotFound)
		return
	}
	defer f.Close()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": i.Name}))
	h.Set("ETag", fmt.Sprintf("%q", i.ID+"-"+part))
	ServePaced(w, r, i.Made, i.Size, f)
}

// ServePaced serves a content of so many bytes to clients that read it fast enough.
func ServePaced(w http.ResponseWriter, r *http.Request, made time.Time, size int64,
	content io.ReadSeeker) {
	control := http.NewResponseController(w)
	// A client that does not read must not keep the file open for ever. The deadline must not hold
	// for the next request of the connection. Tests may have connections without deadlines.
	_ = control.SetWriteDeadline(time.Now().Add(within(size)))
	http.ServeContent(w, r, "", made, content) // answers ranges, and If-None-Match by the ETag
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
}
