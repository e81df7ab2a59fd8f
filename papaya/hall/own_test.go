package hall

import (
	"slices"
	"strings"
	"testing"
)

// owns answers at once. Every password is "secret", and every account has one certificate.
type owns struct{ s *node }

func (o owns) Password(c *Client, old, new string) {
	if old != "secret" {
		o.s.hall.Served(c, []string{"Not done: the old password is wrong"})
		return
	}
	o.s.hall.Served(c, []string{"The password is changed to one of " +
		strings.Repeat("*", len(new))})
}

func (o owns) Certificates(c *Client) {
	o.s.hall.Served(c, []string{"1 certificates.", "certificate 0a0a"})
}

func (o owns) AddCertificate(c *Client, print, _ string) {
	o.s.hall.Served(c, []string{"added " + print})
}

func (o owns) Tokens(c *Client) {
	o.s.hall.Served(c, []string{"1 tokens.", "token 0a0a"})
}

func (o owns) AddToken(c *Client, name, password string, stays bool) {
	if password != "secret" {
		o.s.hall.Served(c, []string{"Not done: the password is wrong"})
		return
	}
	if stays {
		c.Token = "0a0a0a0a0a0a" + strings.Repeat("0", 52)
	}
	o.s.hall.Served(c, []string{"new token of " + name})
}

func (o owns) EndTokens(c *Client, which string) {
	o.s.hall.Served(c, []string{"ended " + which})
	c.sink.(*person).cluster.log(o.s, NewOrder(1, EndTokens, c.Account(), "0b0b0b0b0b0b,"+which,
		"Signed out"), nil)
}

func (o owns) RemoveCertificate(c *Client, print string) {
	o.s.hall.Served(c, []string{"removed " + print})
}

func (o owns) Rename(c *Client, name, _ string) {
	c.sink.(*person).cluster.log(o.s, NewOrder(1, RenameAccount, c.Account(), name), nil)
	o.s.hall.Served(c, []string{"The account is renamed."})
}

func (o owns) Files(c *Client) { o.s.hall.Served(c, []string{"1 files", "file 0a tea"}) }

func (o owns) RemoveFile(c *Client, id string) { o.s.hall.Served(c, []string{"deleted " + id}) }

func TestSplitQuoted(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string // nil: a quote is missing
	}{
		{"", []string{}},
		{"   ", []string{}},
		{"a  b ", []string{"a", "b"}},
		{`PASSWD "the kettle is on" "it's \"off\" \\"`,
			[]string{"PASSWD", "the kettle is on", `it's "off" \`}},
		{`""`, []string{""}},
		{`a"b c"`, []string{`a"b`, `c"`}}, // a quote within a word is a letter
		{`"a`, nil},
		{`"a\"`, nil},
		{`"a\`, nil},
		{`"`, nil},
		{`"a"b`, nil},
	} {
		got, err := splitQuoted(test.text)
		if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%q: %q, %v; want %q", test.text, got, err, test.want)
		}
	}
}

// FuzzSplitQuoted: words that are quoted are found again.
func FuzzSplitQuoted(f *testing.F) {
	for _, s := range []string{"", `a "b c" d`, `"\\" "\""`, `"`, "\"a\\", "é \"日本\""} {
		f.Add(s)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitQuoted(text)
		if err != nil {
			if words != nil {
				t.Error("words and an error")
			}
			return
		}
		var again strings.Builder
		for _, w := range words {
			again.WriteString(` "` + quote.Replace(w) + `"`)
		}
		if got, err := splitQuoted(again.String()); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q: %q, then %q, %v", text, words, got, err)
		}
	})
}

// TestLeftIsKept: data of a version that did not note when an account was seen last counts it as
// seen when the data was saved.
func TestLeftIsKept(t *testing.T) {
	state := `{"Format":3,"At":0,"Now":5000,"Servers":{},"Users":[{"Nick":"ann","Name":"ann",` +
		`"Host":"host","Real":"Ann","Account":"ann","Here":true,"Stays":true,"Inbox":0,` +
		`"Names":[{"Nick":"ann","From":0}]}],"Known":{},"Rooms":[{"Name":"#tea","Created":1,` +
		`"Here":[{"Nick":"ann","Mark":0}]}],"Index":{}}`
	h, err := Load(Config{}, []byte(state))
	if err != nil {
		t.Fatal(err)
	}
	if early, late := h.Unseen(4999), h.Unseen(5000); early != nil ||
		!slices.Equal(late, []string{"ann"}) {
		t.Errorf("unseen: %v, then %v", early, late)
	}
	again, err := h.Save()
	if err != nil || !strings.Contains(string(again), `"Left":5000`) {
		t.Errorf("saved again: %s, %v", again, err)
	}
}
