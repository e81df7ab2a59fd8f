package file

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRemovalWithMessages: a file goes with a message of its owner, and with no message of others.
func TestRemovalWithMessages(t *testing.T) {
	s := newStore(t)
	first, anns := mustPut(t, s, "ann", "a", []byte("1"))
	_, bobs := mustPut(t, s, "bob", "b", []byte("22"))
	_, bots := mustPut(t, s, "weather/bot", "c", []byte("333"))
	link := func(token string) string { return "see https://tea.example/file/" + token + "/a." }
	for _, step := range []struct {
		text, who string
		want      int
	}{
		{link(anns), "", 0}, {link(anns), "bob", 0}, // who repeats a link does not remove the file
		{anns, "ann", 0}, {"/file/" + anns[1:], "ann", 0}, {"/file/", "ann", 0},
		{link(anns) + "\n" + link(bobs), "BOB", 1}, {link(bobs), "bob", 0},
		{link(bots), "weather/bot", 1},
	} {
		if n, err := s.RemoveLinked(step.text, step.who); n != step.want || err != nil {
			t.Errorf("%q by %q: %d files, %v; want %d", step.text, step.who, n, err, step.want)
		}
		if HasLink(step.text) != strings.Contains(step.text, "/a.") {
			t.Errorf("%q: has a link: %v", step.text, HasLink(step.text))
		}
	}
	s.Close()
	if got := names(t, s); !slices.Equal(got, []string{folderOf(anns)}) {
		t.Errorf("the folder has %q", got)
	}
	if n, err := s.Expire(first.Made); n != 0 || err != nil {
		t.Errorf("none is older: %d, %v", n, err)
	}
	if n, err := s.Expire(first.Made.Add(1)); n != 1 || err != nil {
		t.Errorf("one is older: %d, %v", n, err)
	}
}

// TestOwners: files go with the account that is renamed, and are nobody's when it is removed.
func TestOwners(t *testing.T) {
	folder, limits := filepath.Join(t.TempDir(), "files"), plenty
	s := openStore(t, folder, &limits)
	_, token := mustPut(t, s, "Ann", "a", []byte("1"))
	mustPut(t, s, "bob", "b", []byte("1"))
	owners := func() (list []string) {
		for _, i := range openStore(t, folder, &limits).List() {
			list = append(list, i.Owner)
		}
		slices.Sort(list)
		return list
	}
	for _, step := range []struct {
		old, new string
		want     []string
	}{
		{"ann", "Eve", []string{"Eve", "bob"}}, {"ann", "x", []string{"Eve", "bob"}},
		{"eve", "", []string{"", "bob"}}, {"", "bob", []string{"", "bob"}},
	} {
		if err := s.Rename(step.old, step.new); err != nil {
			t.Fatal(err)
		}
		if got := owners(); !slices.Equal(got, step.want) {
			t.Errorf("%q to %q: the owners are %q, want %q", step.old, step.new, got, step.want)
		}
	}
	if n, _ := s.RemoveLinked("/file/"+token+"/a", "ann"); n != 0 || s.used[""] != 1 {
		t.Errorf("%d files were removed; nobody has %d bytes", n, s.used[""])
	}
}
