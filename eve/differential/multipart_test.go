package differential

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"interleave/eve/trial"
)

// forms is a program that prints the parts of a form: its arguments are the content type and the
// body, whose lines end with LF here.
const forms = `import io.message
import io.multipart

main: [+stdout] () void:
    words: vector<string> = process.args()
    r: message.request
    r.headers.add("content-type", words[0])
    r.body = words[1].replace("\n", "\r\n").bytes()
    match multipart.parse(r, 3):
        error(e): print("error %d %s\n", e.code(), e)
        ok(parts):
            for (p in parts):
                print("%s|%s|%s|%s\n", p.name, p.file, p.kind, p.data.bytes().hex())
`

func TestMultipart(t *testing.T) {
	l := library{text: forms, p: trial.Check(t, "forms.eve", forms)}
	const kind = "multipart/form-data; boundary=x"
	field := func(disposition, data string) string {
		return "--x\nContent-Disposition: " + disposition + "\n\n" + data + "\n"
	}
	a := field("form-data; name=a", "1")
	for _, c := range []struct{ kind, body, want string }{
		{kind, "--x--", ""},
		{kind, a + "--x--\n", "a|||31"},
		{kind, "a preamble\n" + a + field(`Form-Data; name="b;\\\" c\d"; filename=c.png`, "") +
			"--x--\nan epilogue", "a|||31; b;\\\" c\\d|c.png||"},
		{kind, "--x \t\ncontent-type: image/png\nX-Y: z\nContent-Disposition:form-data;" +
			"filename=\"../%22\"; name=\"\"\n\n\n--x\n--x--", "error 400 a part has no head"},
		{kind, "--x \t\ncontent-type: image/png\nX-Y: z\nContent-Disposition:form-data;" +
			"filename=\"../%22\"; name=\"\"\n\n\n--xx\n\n--x--",
			"error 400 a boundary has more signs"},
		{kind, "--x\ncontent-type: image/png\nX-Y: z\nContent-Disposition:form-data;" +
			"filename=\"../%22\"; name=\"\"\n\n\n--\n--x--", "|../%22|image/png|0d0a2d2d"},
		{`Multipart/Form-Data; charset=utf-8; Boundary="a b"`, "--a b\nContent-Disposition: " +
			"form-data; name=a\n\n1\n--a b--", "a|||31"},
		{"text/plain; boundary=x", a, "error 415 this is no multipart/form-data"},
		{"", a, "error 415 this is no multipart/form-data"},
		{"multipart/form-data", a, "error 400 a boundary has 1 to 70 signs"},
		{"multipart/form-data; boundary=" + strings.Repeat("x", 71), a,
			"error 400 a boundary has 1 to 70 signs"},
		{`multipart/form-data; boundary="x`, a, "error 400 a quoted parameter has no end"},
		{`multipart/form-data; boundary="x"y`, a,
			"error 400 a quoted parameter goes on behind its end"},
		{"multipart/form-data; boundary", a, "error 400 a parameter has no value"},
		{kind, "", "error 400 the form has no end"},
		{kind, a, "error 400 the form has no end"},
		{kind, "--x", "error 400 a part has no head"},
		{kind, a + a + a + "--x--", "a|||31; a|||31; a|||31"},
		{kind, a + a + a + a + "--x--", "error 413 the form has too many parts"},
		{kind, field("attachment; name=a", "1") + "--x--",
			"error 400 a part is no field of a form"},
		{kind, "--x\nno colon\n\n1\n--x--", "error 400 a part has a field without a name"},
		{kind, "--x\n b: c\n\n1\n--x--", "error 400 a part has a field without a name"},
		{kind, "--x\nb: a\rc\n\n1\n--x--", "error 400 a part has a field with a control byte"},
		{kind, "--x\nb: " + strings.Repeat("c", 8192) + "\n\n1\n--x--",
			"error 400 the head of a part has no end"},
	} {
		got := l.interpret(1, c.kind, c.body)
		want := strings.ReplaceAll(c.want, "|||", "||text/plain|")
		want = strings.ReplaceAll(want, "c.png||", "c.png|text/plain|")
		said := strings.ReplaceAll(strings.TrimSuffix(got.Out, "\n"), "\n", "; ")
		if said != want || got.Err != "" {
			t.Errorf("%q, %q: got %q %q, want %q", c.kind, c.body, said, got.Err, want)
		}
	}
}

// FuzzMultipart reads any form. What Eve reads Go reads, too, as the same parts.
func FuzzMultipart(f *testing.F) {
	for _, body := range []string{"--x--",
		"--x\nContent-Disposition: form-data; name=a\n\n1\n--x--",
		"--x\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\nContent-Type: c/d" +
			"\n\n\n--x--",
		"\n--x\n\n\n--x--", "--x\n: \n\n--x--", "--x \n\n--xy\n\n--x--"} {
		f.Add(body)
	}
	l := library{text: forms, p: trial.Check(f, "forms.eve", forms)}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "\x00") {
			t.Skip("an argument contains no zero byte")
		}
		got := l.interpret(1, "multipart/form-data; boundary=x", body)
		if got.Status != 0 || got.Err != "" {
			t.Fatalf("%q: %+v", body, got)
		}
		if strings.HasPrefix(got.Out, "error ") {
			return
		}
		r := multipart.NewReader(strings.NewReader(strings.ReplaceAll(body, "\n", "\r\n")), "x")
		for line := range strings.Lines(got.Out) {
			p, err := r.NextRawPart()
			if err != nil {
				t.Fatalf("%q: Eve reads %q, and Go says %v", body, got.Out, err)
			}
			data, err := io.ReadAll(p)
			if err != nil {
				t.Fatal(err)
			}
			hex := line[strings.LastIndex(line, "|")+1:]
			if want := fmt.Sprintf("%x\n", data); hex != want {
				t.Errorf("%q: Eve reads the data %q, and Go %q", body, hex, want)
			}
			_, values, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
			name := []byte(strings.Split(line, "|")[0])
			if err == nil && !bytes.Equal(name, []byte(values["name"])) {
				t.Logf("%q: the names are %q and %q", body, name, values["name"])
			}
		}
	})
}
