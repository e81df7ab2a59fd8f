package interp_test

import (
	"encoding/csv"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// util.csv reads what encoding/csv reads, and what it writes is read as the same rows.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a,b\n1,2\n", "a,b\r\n\"1\r\n\",\"\"\"\"\r\n", "a\"b",
		"\"a\"b", "\"a",
		"a,b\n1\n", "\n\n", ",", "\"\"", "a,\n,b", "a\r", "\r", "\"a\"\r", "a\rb\r\r\n",
		"\"\"\"", " \"a\"", "\xff,\x00\n"} {
		f.Add(s)
	}
	p := newTool(f, "csv", `
    text: string = args[0]
    match csv.parse(text):
        ok(rows):
            match csv.parse(csv.write(rows)):
                ok(again): assert again == rows, f"{again} is not {rows}"
                error(e): fail e
            out: string = ""
            for (row: vector<string> in rows):
                for (field: string in row): out += f"{field.size()}:{field}"
                out += ";"
            say(out)
        error(e): wrong(e)
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		got, wrong := p.call(t, text)
		if (err != nil) != (wrong != "") {
			t.Fatalf("%q: got %q and %q, want %q and %v", text, got, wrong, rows, err)
		}
		if err != nil {
			return
		}
		var all [][]string
		for got != "" {
			var row []string
			for got[0] != ';' {
				size, rest, _ := strings.Cut(got, ":")
				n, err := strconv.Atoi(size)
				if err != nil {
					t.Fatal(err)
				}
				// encoding/csv makes \n of \r\n in quotes, too
				row = append(row, strings.ReplaceAll(rest[:n], "\r\n", "\n"))
				got = rest[n:]
			}
			all, got = append(all, row), got[1:]
		}
		if !reflect.DeepEqual(all, rows) && len(all)+len(rows) > 0 {
			t.Errorf("%q: got %q, want %q", text, all, rows)
		}
	})
}
