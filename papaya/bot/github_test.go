package bot

import (
	"net/http"
	"strings"
	"testing"
)

// events are payloads as GitHub documents them, without what is not read.
var events = []struct{ kind, payload, want string }{
	{"ping", `{"zen": "Keep it logically awesome.", "repository": {"full_name": "ann/tea"}}`,
		"[ann/tea] the webhook works"},
	{"push", `{"ref": "refs/heads/main", "compare": "https://github.com/ann/tea/compare/a...b",
		"pusher": {"name": "ann"}, "repository": {"full_name": "ann/tea"},
		"commits": [{"message": "Fill the kettle"}, {"message": "Put it on\n\nIt is late."}],
		"head_commit": {"message": "Put it on\n\nIt is late."}}`,
		"[ann/tea] ann pushed 2 commits to main: Put it on " +
			"https://github.com/ann/tea/compare/a...b"},
	{"push", `{"ref": "refs/heads/x", "forced": true, "sender": {"login": "bob"},
		"repository": {"full_name": "ann/tea"}, "commits": [{"message": "One"}],
		"head_commit": {"message": "One"}, "compare": "javascript:alert(1)"}`,
		"[ann/tea] bob force-pushed 1 commit to x: One"},
	{"push", `{"ref": "refs/tags/v1", "created": true, "pusher": {"name": "ann"},
		"repository": {"full_name": "ann/tea"}}`, "[ann/tea] ann created tag v1"},
	{"push", `{"ref": "refs/heads/old", "deleted": true, "pusher": {"name": "ann"},
		"repository": {"full_name": "ann/tea"}}`, "[ann/tea] ann deleted branch old"},
	{"push", `{"ref": "refs/heads/main", "pusher": {"name": "ann"}}`, ""},
	{"issues", `{"action": "opened", "sender": {"login": "bob"},
		"repository": {"full_name": "ann/tea"}, "issue": {"number": 7, "title": "No milk",
		"html_url": "https://github.com/ann/tea/issues/7"}}`,
		"[ann/tea] bob opened issue #7: No milk https://github.com/ann/tea/issues/7"},
	{"issues", `{"action": "labeled", "issue": {"number": 7}}`, ""},
	{"pull_request", `{"action": "closed", "sender": {"login": "ann"},
		"repository": {"full_name": "ann/tea"}, "pull_request": {"number": 8, "title": "Add milk",
		"merged": true, "html_url": "https://github.com/ann/tea/pull/8"}}`,
		"[ann/tea] ann merged pull request #8: Add milk https://github.com/ann/tea/pull/8"},
	{"pull_request", `{"action": "ready_for_review", "sender": {"login": "ann"},
		"repository": {"full_name": "ann/tea"}, "pull_request": {"number": 8, "title": "Add milk"}}`,
		"[ann/tea] ann ready for review pull request #8: Add milk"},
	{"pull_request", `{"action": "synchronize", "pull_request": {"number": 8}}`, ""},
	{"release", `{"action": "published", "sender": {"login": "ann"},
		"repository": {"full_name": "ann/tea"}, "release": {"tag_name": "v1.0", "name": "Oolong",
		"html_url": "https://github.com/ann/tea/releases/tag/v1.0"}}`,
		"[ann/tea] ann released v1.0: Oolong https://github.com/ann/tea/releases/tag/v1.0"},
	{"release", `{"action": "created", "release": {"tag_name": "v1.0"}}`, ""},
	{"star", `{"action": "created"}`, ""},
	// Hostile ones: what is in them stays within its line.
	{"issues", `{"action": "opened", "sender": {"login": "bob\r\nQUIT :x"},
		"repository": {"full_name": "ann/tea"}, "issue": {"number": 1,
		"title": "\u0001ACTION\u0000 \u202e", "html_url": "https://a.example/\r\nQUIT"}}`,
		"[ann/tea] bob  QUIT :x opened issue #1: ACTION"},
}

func TestGithub(t *testing.T) {
	for _, test := range events {
		got, err := github(test.kind, []byte(test.payload))
		if err != nil || got != test.want {
			t.Errorf("%s:\n%q, %v, want\n%q", test.kind, got, err, test.want)
		}
	}
	for kind, payload := range map[string]string{"push": `{}`, "issues": `{"action": "opened"}`,
		"pull_request": `[]`, "release": `{"action": "published"}`, "ping": `{`,
		"issues ": ``} {
		if got, err := github(kind, []byte(payload)); err == nil || got != "" {
			t.Errorf("%s of %s: %q, %v", kind, payload, got, err)
		}
	}
	long := strings.Repeat("long ", 1000)
	line, err := github("issues", []byte(`{"action": "opened", "sender": {"login": "`+long+
		`"}, "repository": {"full_name": "`+long+`"}, "issue": {"number": 1, "title": "`+long+
		`", "html_url": "https://a.example/`+strings.ReplaceAll(long, " ", "/")+`"}}`))
	if err != nil || len(line) > maxPiece || !strings.HasPrefix(line, "[long ") {
		t.Errorf("a long one: %d bytes, %v", len(line), err)
	}
}

// FuzzPayload: whatever is posted becomes harmless messages, or is refused.
func FuzzPayload(f *testing.F) {
	for _, e := range events {
		f.Add("application/json", e.kind, []byte(e.payload))
	}
	f.Add("application/json", "", []byte(`{"text": "a\r\nb\u0000"}`))
	f.Add("application/x-www-form-urlencoded", "", []byte("text=a%0Ab&payload=%7B%7D"))
	f.Add("text/plain; charset=utf-8", "", []byte("the kettle"))
	f.Add("text/plain; charset=utf-16", "", []byte("\xff\xfe"))
	f.Add("", "push", []byte("{"))
	f.Fuzz(func(t *testing.T, kind, event string, body []byte) {
		h := http.Header{"Content-Type": {kind}, "X-Github-Event": {event}}
		lines, err := payload(h, body)
		if err != nil {
			if status, why := refused(err); lines != nil || why == "" || status < 400 ||
				status > 499 {
				t.Errorf("%q, status %d, %q", lines, status, why)
			}
			return
		}
		harmless(t, lines)
	})
}
