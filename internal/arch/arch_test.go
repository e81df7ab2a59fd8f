// Package arch has the rules of this tree as tests: the allowed imports, the contents of each
// folder, the length of files, and files that must never be committed.
package arch

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the tree's, seen from this folder.
const root = "../.."

// maxRootFolders keeps the first look at the tree short.
const maxRootFolders = 10

// maxLines is the rule for a hand-written file; 300 is the habit.
const maxLines = 600

// rooms are the laboratory's packages in the order in which data flows: a package may import only
// packages on lines above its own.
var rooms = []string{
	"version", "oci",
	"browser", "freeport", "postgres", "irctest", "command", "hist", "manifest", "proc", "profile",
	"quantity",
	"group", "netns", "disk",
	"load", "sample",
	"probe/tail", "probe/toolchain", "probe/faulty", "probe/serve", "probe/transcript",
	"probe/play", "probe/play/chat", "probe/play/http", "probe/conform", "probe/probetest",
	"record",
	"machine", "calibrate",
	"stats",
	"verdict",
	"run",
	"report", "findings", "live",
	"prove",
	"arch",
}

// forTests are packages that the tests of every folder but gonet, which is a module of its own, may
// import. They know nothing of what they are used for: a browser, a client of a protocol, a
// database, free ports.
var forTests = []string{"internal/browser", "internal/freeport", "internal/irctest",
	"internal/postgres"}

// eveRooms are the packages of Eve, in the order in which a program passes through them: the same
// rule as for rooms. The tests of one may use any other.
var eveRooms = []string{
	"source", "diag",
	"syntax", "format",
	"types", "ir", "std", "document",
	"check", "perm", "flow", "compile",
	"generate", "interp",
	"emit", "runtime", "build",
	"lsp",
	"dump", "symbols", "trace", "profile",
	"trial", "differential", "servers",
}

// gonetRooms are the packages of GoNet, from the wire up; the package gonet itself is the stack.
var gonetRooms = []string{
	"internal/version", "internal/api",
	"wire", "link", "tcp", "internal/random", "internal/demux", "internal/pathmtu",
	"internal/synqueue", "internal/timewait",
	"packetdrill", "ip", "address", "neighbour", "multicast", "dns",
	"dhcp", "gonet", "host", "relay", "socks", "tun2socks", "slirp", "cmd/gonet",
	"wireguard/netstack", "wireguard/quick", "wireguard/gateway", "wireguard/cmd/gonet-wg",
	"wintun",
	"beside/host", "beside/host/gonethost", "beside/host/gvisorhost",
	"beside/hello", "beside/hello/gonet", "beside/hello/gvisor", "beside/hello/kernel", "beside",
}

// papayaRooms are the packages of Papaya, from the protocol up to its clients. The checker is the
// first, since it must use nothing of what it judges.
var papayaRooms = []string{
	"checker",
	"irc", "bans", "proxy", "fence", "log", "search", "hall", "corpus", "beside", "batch", "limit",
	"handshake",
	"server", "metrics", "account", "bot", "push", "file", "preview", "public", "certificate",
	"config", "keep", "control",
	"client", "web", "terminal",
	"torture",
}

// tracked lists the files that git knows or would add.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("not a git checkout: the rules on committed files were not looked at")
	}
	var files []string
	for f := range strings.Lines(string(out)) {
		f = strings.TrimSuffix(f, "\n")
		if _, err := os.Stat(filepath.Join(root, f)); err == nil {
			files = append(files, f)
		}
	}
	return files
}

// imports returns the import paths of one Go file.
func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil,
		parser.ImportsOnly)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, p)
	}
	return out
}

// room is the package's name among the rooms: "report" for internal/report and what is below it.
func room(dir string) string {
	dir = strings.TrimPrefix(dir, "internal/")
	for {
		if rank(dir) >= 0 || !strings.Contains(dir, "/") {
			return dir
		}
		dir = path.Dir(dir)
	}
}

func rank(room string) int { return slices.Index(rooms, room) }

// eveRank is the place of a folder of Eve among its rooms. The package eve itself is the
// runtime's text.
func eveRank(dir string) int {
	if dir == "eve" {
		return slices.Index(eveRooms, "runtime")
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, "eve/"), "/")
	return slices.Index(eveRooms, name)
}

// gonetRank is the place of a folder of GoNet among its rooms.
func gonetRank(dir string) int {
	return slices.Index(gonetRooms, strings.TrimPrefix(dir, "gonet/"))
}

// papayaRank is the place of a folder of Papaya among its rooms.
func papayaRank(dir string) int {
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, "papaya/"), "/")
	return slices.Index(papayaRooms, name)
}

// allowed says whether a package in dir may import ours, both from the root.
func allowed(dir, ours string) bool {
	top, _, _ := strings.Cut(dir, "/")
	target, _, _ := strings.Cut(ours, "/")
	switch {
	case target == "cmd":
		return false
	case top == "cmd":
		return true
	case top == "services":
		return target == "gonet" || strings.HasPrefix(ours, "eve/runtime") ||
			modelOf(dir) != "" && modelOf(dir) == modelOf(ours)
	case top == "eve" && target == "eve":
		return dir == ours || eveRank(dir) > eveRank(ours) && eveRank(ours) >= 0
	case top == "gonet" && target == top:
		return dir == ours || gonetRank(dir) > gonetRank(ours) && gonetRank(ours) >= 0
	case top == "papaya" && target == top:
		return dir == ours || papayaRank(dir) > papayaRank(ours) && papayaRank(ours) >= 0
	case top == "internal" && target == "internal":
		from, to := room(dir), room(ours)
		return from == to || rank(from) > rank(to) && rank(to) >= 0
	case top == "internal":
		return target == "gonet" || target == "eve"
	}
	return false
}

// modelOf is the name of the model that a folder belongs to, or nothing. A stack that is measured
// in several services has one name in all of them, and its packages in one.
func modelOf(dir string) string {
	if m := modelName.FindStringSubmatch(dir + "/"); m != nil {
		return m[2]
	}
	return ""
}

func TestModelsShareNothing(t *testing.T) {
	const stack = "services/transfer/go-csp-layers/layers"
	for _, c := range []struct {
		dir, ours string
		want      bool
	}{
		{"services/transfer/go-csp-layers", stack, true},
		{"services/ping/go-csp-layers", stack, true},
		{"services/ping/go-csp-gonet", stack, false},
		{"services/ping", stack, false},
		{"services/ping", "services/transfer", false},
		{"services/ping/go-csp-layers", "internal/proc", false},
		{"internal/proc", stack, false},
	} {
		if got := allowed(c.dir, c.ours); got != c.want {
			t.Errorf("%s may import %s: %v, want %v", c.dir, c.ours, got, c.want)
		}
	}
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") {
			continue
		}
		dir, isTest := path.Dir(f), strings.HasSuffix(f, "_test.go")
		for _, p := range imports(t, f) {
			ours, found := strings.CutPrefix(p, "interleave/")
			if !found {
				continue
			}
			if isTest && strings.HasPrefix(dir, "services/") && ours == "internal/probe/probetest" {
				continue // a service's one test finds its models by this package
			}
			if isTest && slices.Contains(forTests, ours) && !strings.HasPrefix(dir, "gonet") {
				continue
			}
			if isTest && strings.HasPrefix(dir, "eve") && strings.HasPrefix(ours, "eve") {
				continue // tests compare one part of the language with another
			}
			if isTest && strings.HasPrefix(dir, "papaya/") && strings.HasPrefix(ours, "papaya/") {
				continue // tests run clients against servers
			}
			if !allowed(dir, ours) {
				t.Errorf("%s imports %s: arrows go from later rooms to earlier ones, and "+
					"nothing imports cmd", f, p)
			}
		}
	}
}

// ofEvesTests are the packages of others that Eve's tests may import: test archives and scripts,
// clients of servers that are written in Eve, and other implementations of Unicode.
var ofEvesTests = []string{"golang.org/x/tools/", "github.com/rogpeppe/go-internal/",
	"github.com/coder/websocket", "github.com/chromedp/chromedp", "golang.org/x/net/http2",
	"github.com/rivo/uniseg", "golang.org/x/text/"}

// TestEveNeedsNothing checks that Eve imports only the standard library.
func TestEveNeedsNothing(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasPrefix(f, "eve/") || !strings.HasSuffix(f, ".go") {
			continue
		}
		for _, p := range imports(t, f) {
			first, _, _ := strings.Cut(p, "/")
			forTests := slices.ContainsFunc(ofEvesTests,
				func(one string) bool { return strings.HasPrefix(p, one) })
			if strings.Contains(first, ".") && !(forTests && strings.HasSuffix(f, "_test.go")) {
				t.Errorf("%s imports %s: Eve needs the standard library only", f, p)
			}
		}
	}
}

// TestGoNetNeedsNothing checks that the stack imports only the standard library, and its links,
// except on Linux, x/sys besides. Tests may import third-party protocols that run over a net.Conn.
func TestGoNetNeedsNothing(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasPrefix(f, "gonet/") || !strings.HasSuffix(f, ".go") ||
			strings.HasSuffix(f, "_test.go") ||
			strings.HasPrefix(f, "gonet/cmd/") || strings.HasPrefix(f, "gonet/wireguard/") ||
			strings.HasPrefix(f, "gonet/wintun/") ||
			strings.HasPrefix(f, "gonet/beside/") { // modules of their own
			continue
		}
		for _, p := range imports(t, f) {
			first, _, _ := strings.Cut(p, "/")
			sys := strings.HasPrefix(p, "golang.org/x/sys/") &&
				strings.HasPrefix(f, "gonet/link/") && !strings.HasSuffix(f, "_linux.go")
			if strings.Contains(first, ".") && !sys {
				t.Errorf("%s imports %s: GoNet needs the standard library only, its links x/sys", f,
					p)
			}
		}
	}
}

func TestEveryRoomHasItsPlace(t *testing.T) {
	for _, f := range tracked(t) {
		if strings.HasPrefix(f, "eve/") && strings.HasSuffix(f, ".go") && eveRank(path.Dir(f)) < 0 {
			t.Errorf("%s: its folder is not in the list of Eve's rooms", f)
		}
		if strings.HasPrefix(f, "gonet/") && strings.HasSuffix(f, ".go") &&
			gonetRank(path.Dir(f)) < 0 {
			t.Errorf("%s: its folder is not in the list of GoNet's rooms", f)
		}
		if strings.HasPrefix(f, "papaya/") && strings.HasSuffix(f, ".go") &&
			papayaRank(path.Dir(f)) < 0 {
			t.Errorf("%s: its folder is not in the list of Papaya's rooms", f)
		}
		if strings.HasPrefix(f, "internal/") && strings.HasSuffix(f, ".go") &&
			rank(room(path.Dir(f))) < 0 {
			t.Errorf("%s: the room %s is not in the list of rooms", f, room(path.Dir(f)))
		}
	}
}

func TestFewFoldersInTheRoot(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range tracked(t) {
		if top, _, found := strings.Cut(f, "/"); found && !strings.HasPrefix(top, ".") {
			seen[top] = true
		}
	}
	if len(seen) > maxRootFolders {
		t.Errorf("%d folders in the root, at most %d: %v", len(seen), maxRootFolders, seen)
	}
}

func TestFilesStayShort(t *testing.T) {
	hand := regexp.MustCompile(`\.(go|c|h|cpp|hpp|erl|js|java|py|rs|sh|css|html|tmpl|eve)$`)
	for _, f := range tracked(t) {
		if !hand.MatchString(f) || strings.Contains(f, "/testdata/") ||
			strings.Contains(f, ".min.") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(data, []byte{'\n'}); n > maxLines {
			t.Errorf("%s: %d lines, at most %d: divide it", f, n, maxLines)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.Contains(f, "/testdata/") {
			continue
		}
		dir := path.Dir(f)
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f), nil,
			parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		documented[dir] = documented[dir] || parsed.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment in any file", dir)
		}
	}
}

// modelName is language-model[-variant].
var modelName = regexp.MustCompile(`^services/([a-z]+)/([a-z]+-[a-z]+(?:-[a-z0-9]+)*)/`)

func TestEveryModelHasAManifest(t *testing.T) {
	has := map[string]bool{}
	for _, f := range tracked(t) {
		if !strings.HasPrefix(f, "services/") {
			continue
		}
		if m := modelName.FindStringSubmatch(f); m != nil {
			dir := "services/" + m[1] + "/" + m[2]
			has[dir] = has[dir] || f == dir+"/model.toml"
		}
	}
	if len(has) == 0 {
		t.Fatal("no model folder was found: the rule looks at nothing")
	}
	for dir, ok := range has {
		if !ok {
			t.Errorf("%s: no model.toml", dir)
		}
	}
}

// TestModelsSayThatTheyUseGoNet checks that models which import the stack say so: a change of the
// stack makes their builds stale.
func TestModelsSayThatTheyUseGoNet(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasPrefix(f, "services/") || !strings.HasSuffix(f, ".go") ||
			strings.HasSuffix(f, "_test.go") || path.Base(f) == "gonet.go" {
			continue // gonet.go is only built with --stack=gonet, which adds the stack itself
		}
		for _, p := range imports(t, f) {
			if !strings.HasPrefix(p, "interleave/gonet") {
				continue
			}
			dir := strings.TrimSuffix(modelName.FindString(f), "/")
			model, err := os.ReadFile(filepath.Join(root, dir, "model.toml"))
			if err != nil || !strings.Contains(string(model), `"../../../gonet"`) {
				t.Errorf("%s imports %s: expected uses = [\"../../../gonet\"] in its model.toml", f,
					p)
			}
			break
		}
	}
}

func TestNothingThatDoesNotBelong(t *testing.T) {
	marker := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	place := regexp.MustCompile(`(^|[\s"'=(:])/(home|root|work|Users)/`)
	for _, f := range tracked(t) {
		if f == "internal/arch/arch_test.go" || strings.Contains(f, ".min.") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		binary := bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
		switch {
		case binary && !strings.HasPrefix(f, "docs/") && !strings.Contains(f, "testdata/"):
			t.Errorf("%s: a binary is committed", f)
		case binary:
		case marker.Match(data):
			t.Errorf("%s: a leftover marker %q", f, marker.Find(data))
		case place.Match(data):
			t.Errorf("%s: an absolute path of one machine %q", f, place.Find(data))
		}
	}
}
