package compile

import (
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// The fix of a permission diagnostic removes that diagnostic and leaves text that parses.
func TestFixesMend(t *testing.T) {
	for _, path := range programs(t, "err") {
		base := filepath.Base(path)
		if !strings.HasPrefix(base, "e04") && !strings.HasPrefix(base, "w04") {
			continue
		}
		t.Run(base, func(t *testing.T) {
			_, diags := golden(t, path)
			for _, d := range diags {
				if d.Fix != nil && permission(d.Code) {
					mend(t, d)
				}
			}
		})
	}
}

func permission(c diag.Code) bool {
	return c[1:3] == "04" && c != "W0430" && c != "W0431" && c != "W0432"
}

func mend(t *testing.T, d diag.Diagnostic) {
	t.Helper()
	f := d.Fix.Span.File
	text := f.Text[:d.Fix.Span.Start] + d.Fix.New + f.Text[d.Fix.Span.End:]
	_, after := Check(source.NewFile(f.Name, text), nil)
	for _, a := range after {
		if a.Code == d.Code && a.Message == d.Message && a.Span.Line() == d.Span.Line() &&
			a.Span.Text() == d.Span.Text() {
			t.Errorf("line %d: %s stays after %q", d.Span.Line(), d.Code, d.Fix.New)
		}
		if strings.HasPrefix(string(a.Code), "E01") {
			t.Errorf("line %d: %q does not parse: %s", d.Span.Line(), d.Fix.New, a.Message)
		}
	}
}

// The fix for a statement that uses an object by a handle only makes the statement a task.
func TestHandleFix(t *testing.T) {
	_, diags := golden(t, filepath.Join("..", "testdata", "err", "e0401_r02_handle.eve"))
	if len(diags) != 2 {
		t.Fatalf("%d diagnostics, want 2", len(diags))
	}
	for _, d := range diags {
		if d.Fix == nil || d.Fix.New != "@ [+client]: " {
			t.Errorf("%s: the fix is %+v, want a task that lists +client", d.Code, d.Fix)
		}
	}
}
