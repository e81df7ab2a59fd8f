package irc

import "testing"

func TestPlain(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain", "plain"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m"},
		{"\x1b]0;title\x07", "]0;title"},
		{"\u009b31m", "31m"},
		{"bell\x07 back\x08 nul\x00 del\x7f", "bell back nul del"},
		{"tab\there", "tab here"},
		{"\x02bold\x02 \x0304,12red\x03 \x033green\x0f \x1fu\x1f", "bold red green u"},
		{"\x03,5 is no colour", ",5 is no colour"},
		{"abc\u202edcba", "abcdcba"},
		{"zero\u200bwidth\ufeff", "zerowidth"},
		{"👩\u200d👧", "👩\u200d👧"},
		{"line\u2028end", "lineend"},
		{"\xff\xfe", "\ufffd"},
		{"日本", "日本"},
	}
	for _, tt := range tests {
		if got := Plain(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}
