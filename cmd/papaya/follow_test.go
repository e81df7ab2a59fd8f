package main

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"testing"
	"time"

	"interleave/papaya/config"
	"interleave/papaya/hall"
)

func TestFileAge(t *testing.T) {
	for _, test := range []struct{ files, messages, want time.Duration }{
		{0, 0, 0}, {3, 0, 3}, {0, 4, 4}, {3, 4, 3}, {4, 3, 3},
	} {
		c := &config.Config{FilesKeep: test.files, Keep: test.messages}
		if got := fileAge(c); got != test.want {
			t.Errorf("files %d, messages %d: %d, want %d", test.files, test.messages, got,
				test.want)
		}
	}
}

// TestOldFilesAreRemoved: files go when they have the age of the settings, and not before.
func TestOldFilesAreRemoved(t *testing.T) {
	c := config.Default()
	c.Data = t.TempDir()
	d := &daemon{logger: slog.New(slog.DiscardHandler)}
	d.settings.Store(c)
	if err := d.openFiles(c); err != nil {
		t.Fatal(err)
	}
	defer d.files.Close()
	u, err := d.files.Begin("ann", -1)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Abort()
	if _, err := bytes.NewBufferString("tea").WriteTo(u); err != nil {
		t.Fatal(err)
	}
	i, _, err := u.Commit(context.Background(), "tea.txt")
	if err != nil {
		t.Fatal(err)
	}
	left := func() int {
		n, _ := d.files.Usage()
		return n
	}
	d.expireFiles(i.Made.AddDate(90, 0, 0))
	if left() != 1 {
		t.Error("without an age, it is removed")
	}
	old := *c
	old.FilesKeep = 24 * time.Hour
	d.settings.Store(&old)
	if d.expireFiles(i.Made.Add(24 * time.Hour)); left() != 1 {
		t.Error("it is removed before it is older")
	}
	if d.expireFiles(i.Made.Add(24*time.Hour + 1)); left() != 0 {
		t.Error("it is old, and there")
	}
}

// TestRoomAges: the age that messages of a room have in the settings holds for the room under its
// other name, too, unless that has an age of its own or another room has the first name.
func TestRoomAges(t *testing.T) {
	const day = 24 * time.Hour
	ages := roomAges([]string{"#Tea 7d", "#den 3d", "#loo 1d", "#nook 2d", "#attic 5d"},
		[]hall.Room{{Name: "#Chai", Former: []string{"#tea"}},
			{Name: "#bath", Former: []string{"#loo"}}, {Name: "#Loo"},
			{Name: "#den", Former: []string{"#nook"}},
			{Name: "#roof", Former: []string{"#attic", "#tea", "#none"}}})
	want := map[string]time.Duration{"#tea": 7 * day, "#chai": 7 * day, "#den": 3 * day,
		"#loo": day, "#nook": 2 * day, "#attic": 5 * day, "#roof": 5 * day}
	if !maps.Equal(ages, want) {
		t.Errorf("got %v, want %v", ages, want)
	}
}
