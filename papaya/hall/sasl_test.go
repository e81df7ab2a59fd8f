package hall

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestParsePlain(t *testing.T) {
	for _, test := range []struct{ said, name, password string }{
		{"\x00ann\x00secret", "ann", "secret"},
		{"ann\x00ann\x00secret", "ann", "secret"},
		{"ANN\x00ann\x00secret", "ann", "secret"},
		{"\x00ann\x00" + strings.Repeat("x", 256), "ann", strings.Repeat("x", 256)},
		{"bob\x00ann\x00secret", "", ""},
		{"\x00ann\x00", "", ""},
		{"\x00\x00secret", "", ""},
		{"ann\x00secret", "", ""},
		{"\x00ann\x00sec\x00ret", "", ""},
		{"\x00ann\x00" + strings.Repeat("x", 257), "", ""},
		{"", "", ""},
	} {
		name, password, err := parsePlain(base64.StdEncoding.EncodeToString([]byte(test.said)))
		if name != test.name || password != test.password || (err == nil) != (test.name != "") {
			t.Errorf("%q: %q, %q, %v", test.said, name, password, err)
		}
	}
	for _, loose := range []string{"aHVudGVyMg=!", "AGFubgBzZWNyZXR=", "AGFubgBzZWNyZXQ"} {
		if _, _, err := parsePlain(loose); err == nil || strings.Contains(err.Error(), loose[:4]) {
			t.Errorf("%q is no strict base64: %v", loose, err)
		}
	}
}

func FuzzParsePlain(f *testing.F) {
	for _, s := range []string{"AGFubgBzZWNyZXQ=", "", "=", "AAAA", "YW5uAGFubgBzZWNyZXQ=",
		"AGFubgBzZWNyZXR="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, said string) {
		name, password, err := parsePlain(said)
		if err != nil {
			if name != "" || password != "" {
				t.Error("an error and a name")
			}
			return
		}
		again, same, err := parsePlain(base64.StdEncoding.EncodeToString([]byte("\x00" + name +
			"\x00" + password)))
		if err != nil || again != name || same != password {
			t.Errorf("%q, said again: %q, %v", said, again, err)
		}
	})
}
