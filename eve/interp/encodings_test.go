package interp_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

// util.base64 decodes what encoding/base64 decodes strictly, but for line breaks, and encodes
// alike.
func FuzzBase64(f *testing.F) {
	for _, s := range []string{"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zg", "Zm8", "Zh==", "Zm9=",
		"====", "Z===", "Zg=", "Zg==\n", "Zm9vZ", "+/+/", "-_-_", "Zm\xff9", "A=BC", "AA=="} {
		for how := range byte(4) {
			f.Add(s, how)
		}
	}
	p := newTool(f, "base64", `
    url: bool = args[0].contains("u")
    pad: bool = args[0].contains("p")
    if args[0].contains("e"): say(base64.encode(args[1], url = url, pad = pad))
    else:
        match base64.decode(args[1], url = url, pad = pad):
            ok(b): say(b.text())
            error(e): wrong(e)
`)
	codes := []struct {
		how  string
		code *base64.Encoding
	}{{"p", base64.StdEncoding}, {"", base64.RawStdEncoding}, {"up", base64.URLEncoding},
		{"u", base64.RawURLEncoding}}
	f.Fuzz(func(t *testing.T, text string, how byte) {
		if len(text) > longest {
			return
		}
		c := codes[how%4]
		if got, _ := p.call(t, "e"+c.how, text); got != c.code.EncodeToString([]byte(text)) {
			t.Errorf("%q is encoded as %q", text, got)
		}
		want, err := c.code.Strict().DecodeString(text)
		bad := err != nil || strings.ContainsAny(text, "\r\n")
		got, wrong := p.call(t, c.how, text)
		if bad != (wrong != "") || !bad && got != string(want) {
			t.Errorf("%q %s: got %q and error %q, want %q and %v", text, c.how, got, wrong, want,
				err)
		}
	})
}

func FuzzHex(f *testing.F) {
	for _, s := range []string{"", "00", "fF09", "0", "0g", "g0", "abc", "\xff\xff"} {
		f.Add(s)
	}
	p := newTool(f, "hex", `
    if args[0] == "e": say(hex.encode(args[1]))
    else:
        match hex.decode(args[1]):
            ok(b): say(b.text())
            error(e): wrong(e)
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		if got, _ := p.call(t, "e", text); got != hex.EncodeToString([]byte(text)) {
			t.Errorf("%q is encoded as %q", text, got)
		}
		want, err := hex.DecodeString(text)
		got, wrong := p.call(t, "d", text)
		if (err != nil) != (wrong != "") || err == nil && got != string(want) {
			t.Errorf("%q: got %q and error %q, want %q and %v", text, got, wrong, want, err)
		}
	})
}
