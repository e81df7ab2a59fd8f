package command

import (
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongWords(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string // of a Usage; empty if the words are right
	}{
		{nil, ""},
		{[]string{"ping", "here"}, ""},
		{[]string{"pin"}, `no command "pin": did you mean ping?`},
		{[]string{"serenade"}, "no command \"serenade\": `trial help` lists them"},
		{[]string{"ping"}, "ping: accepts 1 arg(s), received 0; it is `trial ping HOST`"},
		{[]string{"ping", "--fast", "here"}, "unknown flag: --fast; `trial ping --help` says more"},
	} {
		root := Root("trial", "a trial", "A trial.", &cobra.Command{
			Use: "ping HOST", Args: cobra.ExactArgs(1), DisableFlagsInUseLine: true,
			RunE: func(*cobra.Command, []string) error { return nil }})
		root.SetArgs(append([]string{}, test.words...))
		root.SetOut(io.Discard)
		err := root.Execute()
		var u Usage
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%q: got %v", test.words, err)
		case test.want != "" && (!errors.As(err, &u) || err.Error() != test.want):
			t.Errorf("%q: got %v, want %s", test.words, err, test.want)
		}
	}
}
