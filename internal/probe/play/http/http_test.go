package http

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

func TestMain(m *testing.M) { faulty.Main(m) }

// verbs are those that transcripts of streams use.
var verbs = transcript.Join(play.Core, Verbs)

const twoChunks = "dial a\na gets \"/test/7\"\na hears chunk 1..2"

// TestStreamFaults plays the stream's own transcripts. The server without a fault passes them, and
// each fault is found.
func TestStreamFaults(t *testing.T) {
	ask := func(text, want string) string {
		return "dial a\na send " + text + "\na hears status " + want
	}
	for _, test := range []struct{ fault, transcript, want string }{
		{"none", "stream", ""},
		{"none", "refused", ""},
		{"none", "crowded", ""},
		{"none", "reads-not", ""},
		{"none", "terminate", ""},
		{"none", twoChunks + "\nserver terminates\na hears end", ""},
		{"skips", twoChunks,
			`got "Chunk 3 for id /test/7\n\r\n", want "Chunk 2 for id /test/7\n\r\n"`},
		{"doubles", "dial a\na gets \"/test/7\"\na hears chunk 1..3", `got "Chunk 2 for id`},
		{"exchanges", twoChunks, `got "Chunk 3 for id`},
		{"wrong-id", twoChunks,
			`got "18\r\n" in place of a chunk's size, want "17\r\n" before "Chunk 2 for id /test/7\n"`},
		{"joins", twoChunks, `got "2e\r\n" in place of a chunk's size`},
		{"no-end", twoChunks, `got "16\r\n" in place of a chunk's size`},
		{"wrong-size", twoChunks, `got "18\r\n" in place of a chunk's size`},
		{"lf-only", twoChunks, `got "17\n" in place of a chunk's size`},
		{"cuts", twoChunks, `got "Chunk 2", then`},
		{"early", twoChunks, "ms before it was due"},
		{"no-coding", twoChunks, "got no Transfer-Encoding, want chunked"},
		{"codes-old", "stream", "got Transfer-Encoding for a request of HTTP/1.0"},
		{"says-html", twoChunks, `got Content-Type "text/html", want text/plain`},
		{"refuses-all", twoChunks, "got status 400, want 200"},
		{"head-has-body", "stream", "after the head, want no more"},
		{"accepts-all", "refused", "got status 200, want 404"},
		{"takes-anything", ask(`"GET\r\n\r\n"`, "400 or 4xx"), "got status 200, want 400 or 4xx"},
		{"no-allow", "refused", `got "" in the field Allow, want "GET, HEAD"`},
		{"none", ask(`"PUT /test/7 HTTP/1.1\r\nHost: x\r\n\r\n"`, `405 with "Allow: GET"`), ""},
		{"none", ask(`"PUT /test/7 HTTP/1.1\r\nHost: x\r\n\r\n"`, `405 with "Allow: PUT"`),
			`got "HEAD, GET" in the field Allow, want "PUT"`},
		{"patient", "limit 3s\ndial a\na send \"GET\"\na hears status 408 or end",
			"nothing more came within the transcript's limit; want status 408"},
		{"none", "limit 3s\ndial a\na gets \"/test/7\"\na hears end",
			"want the end of the connection"},
		{"none", "dial a\na hears chunk 1", "it hears no stream yet"},
	} {
		name, _, _ := strings.Cut(test.transcript, "\n")
		t.Run(test.fault+" "+name, func(t *testing.T) {
			t.Parallel()
			err := playStream(t, test.fault, test.transcript, test.want)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func playStream(t *testing.T, fault, text, want string) error {
	program := faulty.Program(t, "testdata/stream")
	if !strings.Contains(text, "\n") {
		whole, err := os.ReadFile(filepath.Join("../../../../services/stream/conform", text+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		text = string(whole)
	}
	script, err := transcript.Parse("t.txt", []byte(text), verbs)
	if err != nil {
		t.Fatal(err)
	}
	built := faulty.Built(t, &manifest.Model{Name: fault, Service: "stream",
		Run: []string{program, fault, "{port}", "{host}"}})
	return faulty.Find(want, func(patience float64) error {
		return play.Run(t.Context(), script, built, transcript.StdoutPipe, patience)
	})
}

func TestParseStream(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`a gets "/test/7"`, ""},
		{`a gets`, "expected a path in quotes; it is written NAME gets"},
		{`a hears status 404`, ""},
		{`a hears status 4xx or 505 or end with "Allow: GET" and no more`, ""},
		{`a hears status`, "expected a status such as 404 or 4xx, or end at the end of the line"},
		{`a hears status 604`, "expected a status such as 404 or 4xx, or end, got 604"},
		{`a hears status 40`, "or end, got 40"},
		{`a hears status 4x4`, "or end, got 4x4"},
		{`a hears status 404 or`, "expected a status"},
		{`a hears status 405 with "Allow"`, "expected a line of the head such as"},
		{`a hears status 405 and more`, "expected no"},
		{`a hears greeting "/x"`, ""},
		{`a hears greeting`, "expected a path"},
		{`a hears chunk 1..60`, ""},
		{`a hears chunk 7`, ""},
		{`a hears chunk`, "expected the number of a chunk"},
		{`a hears chunk 0`, "expected the number of a chunk between 1 and 60, got 0"},
		{`a hears chunk 1..61`, "expected chunks such as 1..3, at most 60"},
		{`a hears chunk 3..1`, "expected chunks such as 1..3"},
		{`a hears end`, ""},
		{`a hears end of it`, "expected the end of the line, got of"},
	} {
		_, err := transcript.Parse("t.txt", []byte("dial a\n"+test.line), verbs)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.line, err, test.want)
		}
	}
	again, err := transcript.Parse("t.txt",
		[]byte("dial a\na hears end\ndial a\na gets \"/\""), verbs)
	if err != nil || len(again.Steps) != 4 {
		t.Errorf("a client that has heard the end: got %v", err)
	}
	if early >= time.Second/4 {
		t.Errorf("a chunk may come %v early: a wrong second would pass", early)
	}
}
