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

// pieces is a program that prints the same, but reads the body in pieces of so many bytes.
const pieces = `import io.message
import io.multipart

main: [+stdout] () void:
    words: vector<string> = process.args()
    body: string = words[1].replace("\n", "\r\n")
    size: int = words[2].to_int() else 1
    r: message.request
    r.headers.add("content-type", words[0])
    match multipart.open(r, 3, 64, 20_000):
        error(e): print("error %d %s\n", e.code(), e)
        ok(m): print("%s", read(m.copy(), body, size))

read: (=m: multipart.reader, body: string, size: int) string:
    out: string = ""
    data: string = ""
    at: int = 0
    for (turn in 0..4 * body.size() + 20):
        match m.next():
            more:
                if at == body.size(): m.finish()
                m.push(body[at..min(at + size, body.size())])
                at = min(at + size, body.size())
            begun(p):
                data = ""
                out += f"{p.name}|{p.file}|{p.kind}|"
            data(d): data += d.text()
            ended: out += data.bytes().hex() + "\n"
            over: return out
            failed(e): return f"error {e.code()} {e}\n"
    return "no end\n"
`

func TestMultipart(t *testing.T) {
	l := library{text: forms, p: trial.Check(t, "forms.eve", forms)}
	m := library{text: pieces, p: trial.Check(t, "pieces.eve", pieces)}
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
		for _, size := range []string{"1", "7", "1000000"} {
			if also := m.interpret(1, c.kind, c.body, size); also.Out != got.Out || also.Err != "" {
				t.Errorf("%q in pieces of %s: got %q %q, want %q", c.body, size, also.Out,
					also.Err, got.Out)
			}
		}
	}
}

// A part, and a form, that is too large is refused as soon as that is known.
func TestMultipartLimits(t *testing.T) {
	m := library{text: pieces, p: trial.Check(t, "pieces.eve", pieces)}
	const kind, head = "multipart/form-data; boundary=x",
		"--x\nContent-Disposition: form-data; name=a\n\n"
	for _, c := range []struct{ body, want string }{
		{head + strings.Repeat("1", 64) + "\n--x--",
			"a||text/plain|" + strings.Repeat("31", 64) + "\n"},
		{head + strings.Repeat("1", 65) + "\n--x--", "error 413 a part has more than 64 bytes\n"},
		{head + strings.Repeat("1", 999), "error 413 a part has more than 64 bytes\n"},
		{strings.Repeat("1", 20_001), "error 413 the form has more than 20000 bytes\n"},
		{"--x" + strings.Repeat(" ", 19_000), "error 400 a part has no head\n"},
		{head + strings.Repeat("\n--", 9) + "\n--x--", "a||text/plain|" +
			strings.Repeat("0d0a2d2d", 9) + "\n"},
	} {
		for _, size := range []string{"3", "1000", "1000000"} {
			if got := m.interpret(1, kind, c.body, size); got.Out != c.want || got.Err != "" {
				t.Errorf("%q in pieces of %s: got %q %q, want %q", c.body, size, got.Out, got.Err,
					c.want)
			}
		}
	}
}

// FuzzMultipart reads any form, also in pieces. What Eve reads Go reads, too, as the same parts.
func FuzzMultipart(f *testing.F) {
	for _, body := range []string{"--x--",
		"--x\nContent-Disposition: form-data; name=a\n\n1\n--x--",
		"--x\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\nContent-Type: c/d" +
			"\n\n\n--x--",
		"\n--x\n\n\n--x--", "--x\n: \n\n--x--", "--x \n\n--xy\n\n--x--"} {
		f.Add(body)
	}
	l := library{text: forms, p: trial.Check(f, "forms.eve", forms)}
	m := library{text: pieces, p: trial.Check(f, "pieces.eve", pieces)}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "\x00") {
			t.Skip("an argument contains no zero byte")
		}
		got := l.interpret(1, "multipart/form-data; boundary=x", body)
		if got.Status != 0 || got.Err != "" {
			t.Fatalf("%q: %+v", body, got)
		}
		for _, size := range []string{"1", "5"} {
			also := m.interpret(1, "multipart/form-data; boundary=x", body, size)
			if also.Out != got.Out && !strings.Contains(also.Out, " has more than ") {
				t.Fatalf("%q in pieces of %s: got %+v, want %q", body, size, also, got.Out)
			}
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
