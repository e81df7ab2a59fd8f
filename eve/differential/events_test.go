package differential

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"interleave/eve/trial"
)

// streams is a program that prints the events of a stream, whose parts are its arguments, and what
// it knows at the end.
const streams = `import io.events

main: [+stdout] () void:
    p: events.parser = events.parser(100)
    for (part in process.args()):
        p.push(part.bytes())
        going: bool = true
        while going:
            match p.next():
                more: going = false
                event(e): print("%s|%s|%s\n", e.name.bytes().hex(), e.id.bytes().hex(),
                    e.data.bytes().hex())
                failed(e):
                    print("%s\n", e.text())
                    return
    print("%d %s\n", p.retry.milliseconds(), p.last.bytes().hex())
`

// wantEvents reads a stream as the HTML standard says, line by line.
func wantEvents(text string) string {
	var out strings.Builder
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	var data []string
	name, id, last, retry, size := "", "", "", 3000, 0
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		if size += len(line); size > 100 {
			return out.String() + "an event is too large\n"
		}
		if line == "" {
			last, size = id, 0
			if data != nil {
				if name == "" {
					name = "message"
				}
				fmt.Fprintf(&out, "%x|%x|%x\n", name, last, strings.Join(data, "\n"))
			}
			name, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		case "retry":
			if n, err := strconv.ParseUint(value, 10, 64); err == nil && len(value) < 10 &&
				value[0] != '+' {
				retry = int(n)
			}
		}
	}
	if size+len(lines[len(lines)-1]) > 100 {
		return out.String() + "an event is too large\n"
	}
	return out.String() + fmt.Sprintf("%d %x\n", retry, last)
}

var someStreams = []string{"", "data: a\n\n", "data: a\r\ndata:b\r\n\r\n", "data\n\n",
	"data\rdata:\r\r", "\ufeffdata: a\n\n", ":comment\n\nevent: e\n\ndata: a\n\n",
	"event: e\nid: 1\ndata: a\n\nid\ndata: b\n\n", "id: 1\n\n", "id: a\x00\ndata: b\n\n",
	"retry: 10\nretry: x\nretry: +1\nretry:\n\n", "data: a\n",
	"data:  a\ndata: b: c\nother: d\n\n", "\n\n\n", "data: \xff\xfe\n\n",
	"data: " + strings.Repeat("x", 95) + "\n\n", strings.Repeat("data: x\n", 20) + "\n",
	strings.Repeat(":x\n", 60) + "\n"}

// compareEvents reads a stream in two parts, divided at `at`.
func compareEvents(t *testing.T, l library, text string, at int) {
	t.Helper()
	parts := []string{text[:at], text[at:]}
	got := l.interpret(1, parts...)
	if want := wantEvents(text); got.Out != want || got.Err != "" {
		t.Errorf("%q: got %q %q, want %q", parts, got.Out, got.Err, want)
	}
}

func TestEvents(t *testing.T) {
	l := library{text: streams, p: trial.Check(t, "streams.eve", streams)}
	for _, text := range someStreams {
		for at := range len(text) + 1 {
			compareEvents(t, l, text, at)
		}
	}
}

// FuzzEvents compares the parser of server-sent events with a simple one.
func FuzzEvents(f *testing.F) {
	for _, text := range someStreams {
		f.Add(text, len(text)/2)
	}
	l := library{text: streams, p: trial.Check(f, "streams.eve", streams)}
	f.Fuzz(func(t *testing.T, text string, at int) {
		compareEvents(t, l, text, max(0, min(at, len(text))))
	})
}
