package servers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"interleave/internal/postgres"
)

// A bookReply is what the page's API says of a book, of a list, or of what is wrong.
type bookReply struct {
	ID            int
	Title, Author string
	Year          *int
	ISBN          *string
	Version       int
	Changed       string
	Books         []bookReply
	Next          *string
	Errors        []struct{ Place, Why string }
}

func (b browser) book(method, path, body string, status int) (r bookReply, head http.Header) {
	b.t.Helper()
	a, text := b.ask(method, path, strings.NewReader(body))
	if a.StatusCode != status || a.Header.Get("Content-Type") != "application/json" ||
		json.Unmarshal([]byte(text), &r) != nil {
		b.t.Fatalf("%s %s %s: got %d %q, want %d", method, path, body, a.StatusCode, text, status)
	}
	return r, a.Header
}

// wrongBook checks what is wrong with a request: "place: why", joined by semicolons.
func (b browser) wrongBook(method, path, body string, status int, want string) {
	b.t.Helper()
	r, _ := b.book(method, path, body, status)
	var got []string
	for _, e := range r.Errors {
		got = append(got, e.Place+": "+e.Why)
	}
	if text := strings.Join(got, "; "); text != want {
		b.t.Errorf("%s %s %s: got %q, want %q", method, path, body, text, want)
	}
}

// The API over PostgreSQL, as clients of net/http see it; and its database goes away.
func TestPageOfAPI(t *testing.T) {
	t.Parallel()
	server := postgres.New(t)
	// on a busy machine a statement, and a new connection, may take longer than the page allows
	exe := page(t, "api", "patience: duration = 10s", "patience: duration = 600s", "within 1s",
		"within 600s", "most = 16", "600s, 16")
	p := startWith(t, []string{exe, "0", server.Database(t)}, "EVE_WORKERS=2")
	b := newBrowser(t, p.port())
	emma, head := b.book("POST", "/books",
		`{"title": " Emma ", "author": "Jane Austen", "year": 1815, "isbn": "978-0-14-143958-7"}`,
		201)
	if emma.ID != 1 || emma.Title != "Emma" || emma.Year == nil || *emma.Year != 1815 ||
		emma.ISBN == nil || *emma.ISBN != "978-0-14-143958-7" || emma.Version != 1 ||
		head.Get("Location") != "/books/1" || head.Get("ETag") != `"1"` {
		t.Errorf("made %+v, %v", emma, head)
	}
	odd, _ := b.book("POST", "/books", `{"title": "'; drop table books; --", "author": "\u00e4\""}`,
		201)
	if got, _ := b.book("GET", "/books/2", "", 200); got.Title != odd.Title ||
		got.Author != "\u00e4\"" || got.Year != nil || got.ISBN != nil {
		t.Errorf("got %+v, want %+v", got, odd)
	}
	const all = `"title": "A", "author": "B"`
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/books", "", 400, ": line 1, column 1: expected a value"},
		{"POST", "/books", "{\n \"title\": x}", 400, ": line 2, column 11: expected a value"},
		{"POST", "/books", `{}`, 422, "/title: a text is wanted; /author: a text is wanted"},
		{"POST", "/books", `[]`, 422, "/title: a text is wanted; /author: a text is wanted"},
		{"POST", "/books", `{"title": " ", "author": "` + strings.Repeat("x", 201) + `"}`, 422,
			"/title: it is empty; /author: it is too long"},
		{"POST", "/books", `{` + all + `, "year": 3001, "isbn": "978-0-14-143958-8"}`, 422,
			"/year: a number from -3000 to 3000 is wanted; /isbn: this is no ISBN of 13 digits"},
		{"POST", "/books", `{` + all + `, "isbn": "978-0-14-143958-7"}`, 409,
			"/isbn: another book has it"},
		{"GET", "/books/99", "", 404, "id: there is no such book"},
		{"PUT", "/books/99", `{` + all + `, "version": 1}`, 404, "id: there is no such book"},
		{"PUT", "/books/1", `{` + all + `}`, 422,
			"/version: a number from 1 to 1000000000 is wanted"},
		{"PUT", "/books/1", `{` + all + `, "version": 7}`, 409,
			"/version: the book has version 1"},
		{"DELETE", "/books/99", "", 404, "id: there is no such book"},
		{"GET", "/books?limit=0&after=x&x=y", "", 400, "limit: a number from 1 to 100 is wanted; " +
			"after: the id of a book is wanted; x: there is no such parameter"},
		{"GET", "/books?author=%zz", "", 400, ": an escape without two digits"},
	} {
		b.wrongBook(c.method, c.path, c.body, c.status, c.want)
	}
	b.must("GET", "/health", nil, 200, "{\"database\": \"ok\"}\n")
	bookVersions(t, p)
	bookPages(t, b)
	b.must("DELETE", "/books/2", nil, 204, "")
	b.wrongBook("GET", "/books/2", "", 404, "id: there is no such book")

	server.Stop()
	a := b.must("GET", "/books/1", nil, 503, "the database does not answer\n")
	if a.Header.Get("Retry-After") != "1" {
		t.Errorf("the headers are %v", a.Header)
	}
	if a, text := b.ask("GET", "/health", nil); a.StatusCode != 503 {
		t.Errorf("the health without a database: %d %s", a.StatusCode, text)
	}
	server.Start()
	b.book("GET", "/books/1", "", 200)
	b.must("GET", "/health", nil, 200, "{\"database\": \"ok\"}\n")
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// Of clients that change one version of a book one succeeds, and the others are told.
func bookVersions(t *testing.T, p *process) {
	const clients = 8
	port := p.port()
	var wait sync.WaitGroup
	statuses := make([]int, clients)
	for i := range clients {
		b := newBrowser(t, port)
		wait.Go(func() {
			body := fmt.Sprintf(`{"title": "Emma", "author": "client %d", "version": 1}`, i)
			a, _ := b.ask("PUT", "/books/1", strings.NewReader(body))
			statuses[i] = a.StatusCode
		})
	}
	wait.Wait()
	count := map[int]int{}
	for _, s := range statuses {
		count[s]++
	}
	if count[200] != 1 || count[409] != clients-1 {
		t.Errorf("the statuses are %v", statuses)
	}
	if got, head := newBrowser(t, port).book("GET", "/books/1", "", 200); got.Version != 2 ||
		head.Get("ETag") != `"2"` || statuses[int(got.Author[len("client ")]-'0')] != 200 {
		t.Errorf("then it is %+v", got)
	}
}

// The pages of a list have each book once.
func bookPages(t *testing.T, b browser) {
	for i := range 7 {
		b.book("POST", "/books", fmt.Sprintf(`{"title": "%d", "author": "A&B %%"}`, i), 201)
	}
	path, titles := "/books?limit=3&author="+url.QueryEscape("A&B %"), ""
	for pages := 0; path != ""; pages++ {
		list, _ := b.book("GET", path, "", 200)
		for _, one := range list.Books {
			titles += one.Title
		}
		if path = ""; list.Next != nil {
			path = *list.Next
		}
		if pages > 3 {
			t.Fatal("the pages do not end")
		}
	}
	if titles != "0123456" {
		t.Errorf("the titles are %q", titles)
	}
	if list, _ := b.book("GET", "/books", "", 200); len(list.Books) != 9 || list.Next != nil {
		t.Errorf("the whole list is %+v", list)
	}
}
