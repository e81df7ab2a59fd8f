package servers_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// A server with a route of each kind of parameter, by their texts and by the fields of types.
const routesServer = `import io.http
import io.route
import util.decimal

union side:
    left
    right

type place:
    shelf: uint<8>
    side: side
    price: decimal.decimal
    open: bool

type day:
    on: time.date

routes: () http.routes:
    r: http.routes
    r.get("/int/{n:int}"):
        run = [] (x: http.exchange) void: x.respond(200, f"int {x.number("n")}\n")
    r.get("/float/{n:float}"):
        run = [] (x: http.exchange) void: x.respond(200, f"float {x.param("n")}\n")
    r.get("/bool/{b:bool}"):
        run = [] (x: http.exchange) void: x.respond(200, f"bool {x.param("b")}\n")
    r.get("/uuid/{u:uuid}"):
        run = [] (x: http.exchange) void: x.respond(200, f"uuid {x.param("u")}\n")
    r.get("/date/{d:date}"):
        run = [] (x: http.exchange) void: x.respond(200, f"date {x.param("d")}\n")
    r.get("/code/{c:[a-z0-9_-]{3,5}}"):
        run = [] (x: http.exchange) void: x.respond(200, f"code {x.param("c")}\n")
    r.get("/digits/{c:[0-9]+}"):
        run = [] (x: http.exchange) void: x.respond(200, f"digits {x.number("c")}\n")
    r.get("/short/{c:.{2}}"):
        run = [] (x: http.exchange) void: x.respond(200, f"short {x.param("c")}\n")
    r.get("/lang/{l:de|en}"):
        run = [] (x: http.exchange) void: x.respond(200, f"lang {x.param("l")}\n")
    r.get("/any/{a:any}"):
        run = [] (x: http.exchange) void: x.respond(200, f"any {x.param("a")}\n")
    route.get(r, "/shelves/{shelf}/{side}/{price}/{open}"):
        run = [] (x: http.exchange, p: place) void:
            x.respond(200, f"shelf {p.shelf}, {p.side}, {p.price}, {p.open}\n")
    route.post(r, "/days/{on}"):
        run = [] (x: http.exchange, d: day) void: x.respond(201, f"{d.on}\n")
    r.get("/wrong/{name}"):
        run = [] (x: http.exchange) void: wrong(x)
    return r

# A name that the checker cannot compare with the pattern.
wrong: (x: http.exchange) void: x.respond(200, x.param("nmae"))

main: [+stderr] () void:
    started <- http.listen(8080, routes()) [+stderr]
    match started:
        ok(s):
            on process.signals terminate [+s]: http.stop(s, 600s)
        error(e):
            stderr.write("%s\n", e)
            process.exit(3)
`

// Each kind of parameter takes what it says and nothing else, as curl sees it.
func TestRouteKinds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here")
	}
	p := startWith(t, []string{compiled(t, "routes.eve", routesServer)}, "EVE_WORKERS=2")
	base := fmt.Sprint("http://127.0.0.1:", p.port())
	const none = "there is nothing here\n404"
	id := "f81d4fae-7dec-11d0-a765-00A0c91e6bf6"
	for path, want := range map[string]string{
		"/int/-7":                     "int -7\n200",
		"/int/9223372036854775808":    none,
		"/int/1.5":                    none,
		"/float/-1.5e3":               "float -1.5e3\n200",
		"/float/1e999":                none,
		"/float/x":                    none,
		"/bool/true":                  "bool true\n200",
		"/bool/1":                     none,
		"/uuid/" + id:                 "uuid " + id + "\n200",
		"/uuid/" + id[1:]:             none,
		"/uuid/" + id[:35] + "g":      none,
		"/date/2028-02-29":            "date 2028-02-29\n200",
		"/date/2026-02-29":            none,
		"/date/2026-2-01":             none,
		"/code/a-_9z":                 "code a-_9z\n200",
		"/code/ab":                    none,
		"/code/abcdef":                none,
		"/code/abC":                   none,
		"/digits/007":                 "digits 7\n200",
		"/digits/":                    none,
		"/short/%C3%A9%E6%BC%A2":      "short é漢\n200",
		"/short/abc":                  none,
		"/short/a%2F":                 none,
		"/lang/de":                    "lang de\n200",
		"/lang/fr":                    none,
		"/any/a%2Fb":                  "any a/b\n200",
		"/shelves/255/left/1.50/true": "shelf 255, left, 1.50, true\n200",
		"/shelves/256/left/1.5/true":  none,
		"/shelves/1/up/1.5/true":      none,
		"/shelves/1/left/1,5/true":    none,
		"/wrong/ann":                  "there is no reply\n500",
	} {
		out, err := exec.Command("curl", "-sS", "--max-time", "300", "-w", "%{http_code}",
			base+path).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: got %q, %v, want %q", path, out, err, want)
		}
	}
	b := newBrowser(t, p.port())
	b.must("POST", "/days/2026-11-27T20:00:00Z", nil, 201, "2026-11-27T20:00:00Z\n")
	b.must("POST", "/days/today", nil, 404, "there is nothing here\n")
	b.must("GET", "/days/2026-11-27T20:00:00Z", nil, 405, "this method is not for this path\n")
	p.eventually("the wrong name is reported", func() bool {
		return strings.Contains(p.err.String(), `the route has no parameter "nmae", only [name]`)
	})
}
