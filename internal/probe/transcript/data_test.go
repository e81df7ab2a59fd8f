package transcript

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDataIsTheSameHoweverItIsRead(t *testing.T) {
	d := Data{{text: []byte("abc"), times: 5}, {length: 1000, seed: 0},
		{text: []byte("\n"), times: 1}, {length: 77, seed: 9}, {text: rising, length: 600}}
	whole, err := io.ReadAll(d.Reader())
	if err != nil || int64(len(whole)) != d.Size() {
		t.Fatalf("got %d bytes, %v; want %d", len(whole), err, d.Size())
	}
	single, err := io.ReadAll(iotest.OneByteReader(d.Reader()))
	if err != nil || string(single) != string(whole) {
		t.Errorf("read byte by byte it is something else: %v", err)
	}
	if !strings.HasPrefix(string(whole), "abcabcabcabcabc") {
		t.Errorf("got %q", whole[:15])
	}
	if end := whole[len(whole)-600:]; end[0] != 0 || end[250] != 250 || end[251] != 0 ||
		end[599] != 599%251 {
		t.Errorf("rising bytes are % x", end)
	}
	seen := map[string]bool{} // a pattern in which eight bytes come back would hide an exchange
	for at := 15; at+8 <= 1015; at++ {
		if word := string(whole[at : at+8]); seen[word] {
			t.Fatalf("the bytes at %d are there twice", at)
		} else {
			seen[word] = true
		}
	}
}

func TestShort(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"plain\r\n", `"plain\r\n"`},
		{"\x00\xff", "hex 00 ff"},
		{strings.Repeat("y", 61), `"` + strings.Repeat("y", 60) + `"...`},
	} {
		if got := Short([]byte(test.text)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
