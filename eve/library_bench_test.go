package eve_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

// rates is a program that does one kind of work on a file again and again.
const rates = `import io.message
import util.hash
import util.json
import util.regex

type order:
    id: int
    name: string
    price: float
    tags: vector<string>
    open: bool
    note: string?

work: (kind: string, text: string) int!:
    match kind:
        "json": return json.decode<vector<order>>(text)?.size()
        "regex": return regex.compile("(\\w+)@(\\w+)\\.org")?.find_all(text).size()
        "sha256": return hash.sha256(text).size()
        _: return heads(text)

heads: (text: string) int:
    p: message.parser = message.requests()
    p.push(text)
    n: int = 0
    going: bool = true
    while going:
        match p.next():
            asked(_): n += 1
            else: going = false
    return n

main: [+stdout] () void:
    args: vector<string> = process.args()
    read <- fs.read(args[1], 64mib) [=args, +stdout]
    match read:
        error(e): fail e
        ok(b):
            text: string = b.text()
            times: int = args[2].to_int() else 0
            for (_ in 0..times):
                match work(args[0], text):
                    ok: pass
                    error(e): fail e
            print("done\n")
`

// pythonRates is the same in Python, whose json, re and hashlib are C.
const pythonRates = `
import hashlib, json, re, sys
kind, text = sys.argv[1], open(sys.argv[2], "rb").read()
words = re.compile(r"(\w+)@(\w+)\.org", re.ASCII)
text = text if kind == "sha256" else text.decode()
work = {"json": json.loads, "regex": lambda t: sum(1 for _ in words.finditer(t)),
    "sha256": lambda t: hashlib.sha256(t).digest()}[kind]
for _ in range(int(sys.argv[3])):
    work(text)
`

// repeats says how often a program does its work on a file.
var repeats = map[string]int{"json": 100, "regex": 30, "sha256": 200, "heads": 40}

// BenchmarkLibrary measures parts of the library that are written in Eve, beside Python's, which
// are C, and Go's: docs/eve/differences.md has the figures. They are for processor time, so that a
// busy machine changes them little.
func BenchmarkLibrary(b *testing.B) {
	trial.NeedCompiler(b)
	exe := trial.Build(b, trial.Check(b, "rates.eve", rates), emit.Options{},
		build.Options{Optimise: true})
	python, err := exec.LookPath("python3")
	if err != nil {
		python = ""
	}
	for kind, text := range rateInputs() {
		file := filepath.Join(b.TempDir(), kind)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		times := fmt.Sprint(repeats[kind])
		size := len(text) * repeats[kind]
		b.Run(kind+"/eve", func(b *testing.B) { runRate(b, size, exe, kind, file, times) })
		if python != "" && kind != "heads" {
			b.Run(kind+"/python", func(b *testing.B) {
				runRate(b, size, python, "-c", pythonRates, kind, file, times)
			})
		}
		b.Run(kind+"/go", func(b *testing.B) {
			before := ownTime(b)
			for range b.N * repeats[kind] {
				if err := workInGo(kind, text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/(ownTime(b)-before).Seconds()/1e6, "MB/s")
		})
	}
}

// rateInputs are the files: a list of orders, lines of a log, bytes, and heads of requests.
func rateInputs() map[string]string {
	var orders, lines, heads strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&orders, `{"id": %d, "name": "Ada Lovelace", "price": %d.95, `+
			`"tags": ["red", "large \u00e9"], "open": true, "note": null},`+"\n", i, i%100)
		fmt.Fprintf(&lines, "2026-11-27T20:%02d:00Z user%d@example.org asked for /links/%d: 200\n",
			i%60, i, i)
		fmt.Fprintf(&heads, "GET /links/%d?page=2 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: "+
			"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
			"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en\r\n"+
			"Accept-Encoding: gzip, deflate, br\r\nCookie: session=0123456789abcdef\r\n"+
			"Connection: keep-alive\r\n\r\n", i)
	}
	return map[string]string{
		"json":   "[" + strings.TrimSuffix(orders.String(), ",\n") + "]",
		"regex":  lines.String(),
		"sha256": strings.Repeat("0123456789abcdef", 1<<16),
		"heads":  heads.String(),
	}
}

// runRate runs a program that works on so many bytes.
func runRate(b *testing.B, size int, words ...string) {
	var spent time.Duration
	for range b.N {
		cmd := exec.Command(words[0], words[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(b.N*size)/spent.Seconds()/1e6, "MB/s")
}

// ownTime is the processor time of this process so far.
func ownTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

var addresses = regexp.MustCompile(`(\w+)@(\w+)\.org`)

func workInGo(kind, text string) error {
	switch kind {
	case "json":
		var orders []struct {
			ID    int
			Name  string
			Price float64
			Tags  []string
			Open  bool
			Note  *string
		}
		return json.Unmarshal([]byte(text), &orders)
	case "regex":
		if len(addresses.FindAllStringSubmatchIndex(text, -1)) == 0 {
			return os.ErrNotExist
		}
	case "sha256":
		sha256.Sum256([]byte(text))
	case "heads":
		in := bufio.NewReader(bytes.NewReader([]byte(text)))
		for range 2000 {
			if _, err := http.ReadRequest(in); err != nil {
				return err
			}
		}
	}
	return nil
}
