package log

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// holds says whether a file below folder contains words, and returns the total size.
func holds(t *testing.T, folder, words string) (found bool, size int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(words))
		size += len(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, size
}

// TestWhatIsForgottenIsGone also looks into the files: removed messages must not stay there.
func TestWhatIsForgottenIsGone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "stream")
	j := open(t, folder)
	filler := bytes.Repeat([]byte("y"), 64<<10)
	for i := range 40 {
		words := filler
		if i == 0 {
			words = []byte("a secret")
		}
		if _, err := j.Append(t.Context(), fmt.Appendf(nil, "%d %s", i+1, words)); err != nil {
			t.Fatal(err)
		}
	}
	_, before := holds(t, folder, "")
	if err := j.Forget(t.Context(), 30); err != nil {
		t.Fatal(err)
	}
	secret, after := holds(t, folder, "a secret")
	t.Logf("%d KiB before, %d KiB after", before>>10, after>>10)
	if secret || after > before/2 {
		t.Errorf("the secret is there: %v; %d bytes of %d are left for a quarter of the batches",
			secret, after, before)
	}
	if err := j.Forget(t.Context(), 30); err != nil {
		t.Errorf("a second time: %v", err)
	}
	j.Close()
	j = open(t, folder)
	if sequence, err := j.Append(t.Context(), []byte("next")); sequence != 41 || err != nil {
		t.Errorf("the next batch is %d, %v; want 41", sequence, err)
	}
	if got := follow(t, j, 30, 11)[10]; got != "41 next" {
		t.Errorf("followed %.20q", got)
	}
	if err := j.Forget(t.Context(), 41); err != nil {
		t.Fatal(err)
	}
	j.Close()
	j = open(t, folder)
	if sequence, err := j.Append(t.Context(), []byte("after all")); sequence != 42 || err != nil {
		t.Errorf("after all were forgotten the next batch is %d, %v; want 42", sequence, err)
	}
}
