package eve_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
)

// sanitize chooses the builds to test. Each kind finds errors of its own and costs minutes of
// compiling, so `make test` takes the first and `make sanitize` the others.
var sanitize = flag.String("sanitize", "",
	"test builds with this sanitizer, address or thread, instead of those that users make")

func TestMain(m *testing.M) {
	flag.Parse()
	if !slices.Contains([]string{"", "address", "thread"}, *sanitize) {
		fmt.Fprintf(os.Stderr, "-sanitize=%s: expected address or thread\n", *sanitize)
		os.Exit(2)
	}
	if underRace {
		fmt.Println("SKIP: what is tested here is C++, of which Go's race detector sees nothing")
		return
	}
	os.Exit(m.Run())
}

// needSanitize skips a test that builds its programs in one way only, unless that kind was asked
// for.
func needSanitize(t *testing.T, kind string) {
	t.Helper()
	switch kind {
	case *sanitize:
	case "":
		t.Skipf("nothing in it is built with -sanitize=%s: a run without it has this test",
			*sanitize)
	default:
		t.Skipf("part of make sanitize: -args -sanitize=%s", kind)
	}
}
