package toolchain

import (
	"errors"
	"strings"
	"testing"

	"interleave/internal/manifest"
)

func TestSanitized(t *testing.T) {
	c := &manifest.Model{Service: "echo", Name: "c-a", Language: "c",
		Build: [][]string{{"cc", "-o", "{out}/echo", "echo.c"}}}
	static := &manifest.Model{Service: "echo", Name: "c-a", Language: "c",
		Build: [][]string{{"cc", "-static", "-o", "{out}/echo", "echo.c"}}}
	const place = " -ffile-prefix-map={dir}=services/echo/c-a"
	goModel := &manifest.Model{Language: "go",
		Build: [][]string{{"go", "build", "-o", "{out}/echo"}}}
	elsewhere := &manifest.Model{Language: "go",
		Build: [][]string{{"go", "build", "-C", "../other", "."}}}
	linked := &manifest.Model{Language: "go",
		Build: [][]string{{"go", "build", "-ldflags=-s", "."}}}
	for _, test := range []struct {
		model *manifest.Model
		with  Sanitizer
		want  string
	}{
		{c, Plain, "cc -o {out}/echo echo.c"},
		{c, ASan,
			"cc -o {out}/echo echo.c -g1 -fsanitize=address,undefined -fno-sanitize-recover=all" +
				place},
		{c, TSan,
			"cc -o {out}/echo echo.c -g1 -fsanitize=thread -fno-sanitize-recover=all" + place},
		{c, Race, ""},
		{static, Plain, "cc -static -o {out}/echo echo.c"},
		{static, ASan,
			"cc -o {out}/echo echo.c -g1 -fsanitize=address,undefined -fno-sanitize-recover=all" +
				place},
		{&manifest.Model{Language: "c", Model: "process", Build: c.Build}, TSan, ""},
		{&manifest.Model{Language: "c", Tables: true, Build: c.Build}, TSan, ""},
		{goModel, Race, "go build -race -ldflags=-w -o {out}/echo"},
		{elsewhere, Race, "go build -C ../other -race -ldflags=-w ."},
		{linked, Race, "go build -race -ldflags=-s ."},
		{goModel, ASan, ""},
	} {
		commands, err := sanitized(test.model, test.with)
		if test.want == "" {
			if !errors.Is(err, ErrNotApplicable) {
				t.Errorf("%s with %s: got %v, want ErrNotApplicable", test.model.Language,
					test.with, err)
			}
			continue
		}
		if got := strings.Join(commands[0], " "); got != test.want {
			t.Errorf("%s with %s: got %s, want %s", test.model.Language, test.with, got, test.want)
		}
	}
	onGoNet := &manifest.Model{Stack: manifest.GoNet}
	if got, want := strings.Join(onStack(onGoNet, goModel.Build)[0],
		" "), "go build -tags=gonet -o {out}/echo"; got != want {
		t.Errorf("on GoNet: got %s, want %s", got, want)
	}
	if got := strings.Join(onStack(onGoNet,
		[][]string{{"go", "build", "-C", "..", "-race", "."}})[0],
		" "); got != "go build -C .. -tags=gonet -race ." {
		t.Errorf("on GoNet, of another folder: got %s", got)
	}
	if got := strings.Join(goModel.Build[0], " "); got != "go build -o {out}/echo" {
		t.Errorf("the manifest's own command became %s", got)
	}
	if got := strings.Join(c.Build[0], " "); got != "cc -o {out}/echo echo.c" {
		t.Errorf("the manifest's own command became %s", got)
	}
}
