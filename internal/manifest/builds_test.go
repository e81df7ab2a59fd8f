package manifest

import (
	"slices"
	"strings"
	"testing"
)

const buildsExperiment = `title = "t"
source = "s"
question = "q"
expect = "e"
setup = ["theirs"]
service = "chat"
models = ["c-process"]
builds = ["make", "matrix", "{depth}"]

[[claim]]
id = "P5"
kind = "builds"
sentence = "It builds."
where = "section VI"
targets = ["one", "two"]
`

func TestBuilds(t *testing.T) {
	e, err := parseExperiment("experiments/x/experiment.toml", []byte(buildsExperiment), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.Builds, []string{"make", "matrix", "{depth}"}) || len(e.Claims) != 1 ||
		!slices.Equal(e.Claims[0].Targets, []string{"one", "two"}) {
		t.Errorf("got %+v", e)
	}
	for _, test := range []struct{ old, new, want string }{
		{`builds = ["make", "matrix", "{depth}"]`, "builds = []", "builds: is empty"},
		{`models = ["c-process"]`, `models = ["c-process", "c-epoll"]`,
			"expected the one model that is built"},
		{`models = ["c-process"]`, ``, "models is missing"},
		{`models = ["c-process"]`, "models = [\"c-process\"]\nbaseline = \"c-process\"",
			"baseline: means nothing beside builds"},
		{`kind = "builds"`, `kind = "direction"`, `kind: "direction" is not known`},
		{`targets = ["one", "two"]`, ``, "targets: expected the targets"},
		{`id = "P5"`, `id = "p"`, "is no name of a claim"},
		{`targets = ["one", "two"]`, "targets = [\"one\"]\nmetric = \"cpu\"", "metric"},
		{`[[claim]]`, "[load]\nshape = \"closed\"\n[[claim]]", "load: means nothing beside builds"},
	} {
		text := strings.Replace(buildsExperiment, test.old, test.new, 1)
		if _, err := parseExperiment("experiments/x/experiment.toml", []byte(text),
			nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.new, err, test.want)
		}
	}
}
