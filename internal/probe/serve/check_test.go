package serve

import (
	"testing"

	"interleave/internal/probe/toolchain"
)

// TestSanitizerReport checks that a report is found in the output, since a forked child that dies
// of its sanitizer leaves the exit status of the server as it is.
func TestSanitizerReport(t *testing.T) {
	for _, test := range []struct {
		with  toolchain.Sanitizer
		said  string
		found bool
	}{
		{toolchain.ASan, "ready\n==17==ERROR: AddressSanitizer: heap-use-after-free on address\n",
			true},
		{toolchain.Race, "ready\n==================\nWARNING: DATA RACE\n", true},
		{toolchain.ASan, "ready\naccept: Too many open files\n", false},
		{toolchain.Plain, "ready\nWARNING: DATA RACE\n", false},
	} {
		s := &Server{Built: &toolchain.Built{Sanitize: test.with}}
		s.output.Write([]byte(test.said))
		if err := s.SanitizerReport(); (err != nil) != test.found {
			t.Errorf("%q with %q: got %v", test.said, test.with, err)
		}
	}
}
