package arch

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// maxSleep is the longest real wait for a clock in a test: a test waits for events, or polls. A
// time limit is at least leastNet: a test that passes comes nowhere near it, on any machine.
const (
	maxSleep = 50 * time.Millisecond
	leastNet = time.Minute
)

// maySleep are the files in which tests wait for a clock for longer, or for a duration that is not
// constant, with the reason. In files that import testing/synctest time is fake, and no wait takes
// any.
var maySleep = map[string]string{
	"eve/servers/fetchdial_test.go":               "fills a queue, until a connection is dropped",
	"eve/servers/tlsgarbage_test.go":              "a proxy that gives up what will never come",
	"eve/servers/udp_test.go":                     "asks again if a datagram was lost",
	"gonet/app_dns_test.go":                       fake,
	"gonet/app_http_test.go":                      fake,
	"gonet/icmpconn_test.go":                      fake,
	"gonet/metrics_test.go":                       fake,
	"gonet/wireguard/cmd/gonet-wg/tunnel_test.go": "asks again if a datagram was lost",
	"internal/calibrate/calibrate_test.go": "interrupts a check, each of which lasts as long as " +
		"a real window",
	"internal/load/chat_test.go": "a server that stalls for a known time: the engine " +
		"under test reads the kernel's clock",
	"internal/load/chatserver_test.go":  "a server that answers after a known time, likewise",
	"internal/load/imageserver_test.go": "a server that answers after a known time, likewise",
	"internal/load/ping_test.go":        "a host that answers when a packet is lost, likewise",
	"internal/load/server_test.go":      "a server that stalls for a known time, likewise",
	"internal/load/stream_test.go": "a server that says something each second, as its " +
		"protocol asks, or late by a known time",
	"internal/probe/play/play_test.go": "interrupts a play that waits: nothing else shows that " +
		"it does",
	"services/chat/slow_test.go": "only with -clock, as make siege asks",
	"services/images/slow_test.go": "the second ring: clients that are slow for minutes, " +
		"as the contract bounds them",
}

const fake = "in a bubble of testing/synctest, which another file makes"

// TestNoLongSleeps refuses waits for the clock in tests: time.Sleep of more than maxSleep or of a
// variable, and timers and deadlines of a constant time that is neither short nor a net.
func TestNoLongSleeps(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(root, file), nil, 0)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if fakesTime(f) {
			continue
		}
		for _, w := range waits(f) {
			if w.long() {
				seen[file] = true
				if maySleep[file] == "" {
					t.Errorf("%s:%d: a real wait of more than %v, or of a time that is not "+
						"constant: wait for an event, or poll. A time limit is %v or more",
						file, set.Position(w.time.Pos()).Line, maxSleep, leastNet)
				}
			}
		}
	}
	for file := range maySleep {
		if !seen[file] {
			t.Errorf("%s has no long wait: it needs no exception", file)
		}
	}
}

// fakesTime tells whether a file's tests run in bubbles of testing/synctest.
func fakesTime(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports,
		func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
}

// A wait is a call that lasts for a time, or that ends another one after it.
type wait struct {
	time  ast.Expr
	sleep bool // the call lasts for it in any case
}

// waits finds the waits of a file.
func waits(f *ast.File) (all []wait) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch name := types.ExprString(call.Fun); name {
		case "time.Sleep":
			all = append(all, wait{call.Args[0], true})
		case "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick":
			all = append(all, wait{call.Args[0], false})
		case "context.WithTimeout":
			all = append(all, wait{call.Args[1], false})
		case "net.DialTimeout":
			all = append(all, wait{call.Args[2], false})
		default:
			if later := fromNow(name, call.Args); later != nil {
				all = append(all, wait{later, false})
			}
		}
		return true
	})
	return all
}

// fromNow returns the time until a deadline that is set; nil if the call sets none from now on.
func fromNow(name string, args []ast.Expr) ast.Expr {
	if !setsDeadline.MatchString(name) || len(args) != 1 {
		return nil
	}
	add, ok := args[0].(*ast.CallExpr)
	if !ok || types.ExprString(add.Fun) != "time.Now().Add" {
		return nil
	}
	return add.Args[0]
}

var setsDeadline = regexp.MustCompile(`\.Set(Read|Write)?Deadline$`)

// long tells whether a wait takes too long, or may.
func (w wait) long() bool {
	d, fixed := constantTime(w.time)
	return w.sleep && !fixed || fixed && d > maxSleep && (w.sleep || d < leastNet)
}

// constantTime evaluates a constant time.
func constantTime(e ast.Expr) (d time.Duration, ok bool) {
	text := types.ExprString(e)
	for name, unit := range map[string]time.Duration{"time.Microsecond": time.Microsecond,
		"time.Nanosecond":  1,
		"time.Millisecond": time.Millisecond, "time.Second": time.Second,
		"time.Minute": time.Minute, "time.Hour": time.Hour} {
		text = strings.ReplaceAll(text, name, strconv.FormatInt(int64(unit), 10))
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || value.Value == nil {
		return 0, false
	}
	ns, exact := constant.Int64Val(constant.ToInt(value.Value))
	return time.Duration(ns), exact
}

// TestLong checks waits on both sides of the limits.
func TestLong(t *testing.T) {
	for text, want := range map[string]bool{
		"time.Sleep(time.Millisecond)":                               false,
		"time.Sleep(50*time.Millisecond)":                            false,
		"time.Sleep(51 * time.Millisecond)":                          true,
		"time.Sleep(time.Second)":                                    true,
		"time.Sleep(2 * time.Minute)":                                true,
		"time.Sleep(wait)":                                           true,
		"time.Sleep(time.Until(at))":                                 true,
		"time.Sleep(time.Second / 20)":                               false,
		"time.Sleep(300 * time.Microsecond)":                         false,
		"time.Sleep(n * time.Millisecond)":                           true,
		"<-time.After(20 * time.Millisecond)":                        false,
		"<-time.After(51 * time.Millisecond)":                        true,
		"<-time.After(59 * time.Second)":                             true,
		"<-time.After(time.Minute)":                                  false,
		"<-time.After(patience)":                                     false,
		"time.AfterFunc(time.Second, stop)":                          true,
		"time.NewTimer(time.Second)":                                 true,
		"time.NewTicker(time.Second)":                                true,
		"context.WithTimeout(ctx, time.Second)":                      true,
		"context.WithTimeout(ctx, 5*time.Minute)":                    false,
		"net.DialTimeout(tcp, address, time.Second)":                 true,
		"c.SetDeadline(time.Now().Add(time.Second))":                 true,
		"a.b.SetReadDeadline(time.Now().Add(time.Second))":           true,
		"c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))":  false,
		"c.SetWriteDeadline(time.Now().Add(time.Minute))":            false,
		"c.SetWriteDeadline(end)":                                    false,
		"c.SetReadDeadline(time.Now())":                              false,
		"check(c.SetReadDeadline(time.Now().Add(10 * time.Second)))": true,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+text+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(waits(f), wait.long); got != want {
			t.Errorf("%s is long: %v, want %v", text, got, want)
		}
	}
}

// TestNoLongSleepsInScripts refuses `sleep` of more than maxSleep in the scripts that tests run. A
// sleep of a minute or more is a program that the test stops.
func TestNoLongSleepsInScripts(t *testing.T) {
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".txtar") &&
			!(strings.HasSuffix(file, ".sh") && strings.Contains(file, "testdata/")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if longScript(line) {
				t.Errorf("%s:%d: %q sleeps for more than %v: wait for an event, or poll",
					file, n+1, strings.TrimSpace(line), maxSleep)
			}
		}
	}
}

// scriptSleep matches the command, with a number of seconds.
var scriptSleep = regexp.MustCompile(`\bsleep ([0-9]*\.?[0-9]+)`)

// longScript tells whether a line of shell sleeps for longer than maxSleep, and less than a minute.
func longScript(line string) bool {
	for _, found := range scriptSleep.FindAllStringSubmatch(line, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil || seconds > maxSleep.Seconds() && seconds < time.Minute.Seconds() {
			return true
		}
	}
	return false
}

// TestLongScript checks lines on both sides of the limits.
func TestLongScript(t *testing.T) {
	for line, want := range map[string]bool{
		"sleep 0.05": false, "sleep .05; done": false, "until x; do sleep 0.06; done": true,
		"sleep 1 # once": true, "sleep 60 &": false, "sleep infinity": false, "sleeps 5": false,
		"sleep 0.01; sleep 2": true,
	} {
		if got := longScript(line); got != want {
			t.Errorf("%q is long: %v, want %v", line, got, want)
		}
	}
}
