// Package images tests every model of the service against its contract, README.md. The laboratory
// plays the transcripts in conform before it measures. The tests here check the rest, with one
// server for each model and database.
package images

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/browser"
	"interleave/internal/postgres"
	"interleave/internal/probe/probetest"
)

// diskBytes is the size of the disk that is to fill: ten times what the tests store.
const diskBytes = 256 << 20

var (
	whole = flag.Bool("whole", false,
		"ask every model, on both databases, and wait for the limits in time: half a minute for "+
			"each; else those of Go, Node and Eve the transcripts, and Gin the rest, shortly")
	all = flag.Bool("all", false,
		"also ask java-virtual on PostgreSQL, which is java-thread's program there")
)

// leftovers is the folder for files of killed JVMs: libraries and Tomcat's work.
var leftovers string

// hurry also spares JVMs the loading of classes: the archive of the build has them verified.
func hurry(m *probetest.Subject) {
	probetest.Hurry(m)
	m.Insert("java", "-XX:SharedArchiveFile={out}/lib/images.jsa", "-Xlog:disable",
		"-Djava.io.tmpdir="+leftovers)
}

func TestMain(m *testing.M) {
	var err error
	if leftovers, err = os.MkdirTemp("", "images-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := browser.Main(m)
	_ = os.RemoveAll(leftovers)
	os.Exit(code)
}

// each tests the models whose names match a pattern, but for those with a PostgreSQL of their own:
// they are the programs of other models, which TestPostgreSQL tests on one.
func each(t *testing.T, pattern string, test func(t *testing.T, m *probetest.Subject)) {
	probetest.Each(t, pattern, func(t *testing.T, m *probetest.Subject) {
		if strings.HasSuffix(t.Name(), "-postgresql") {
			t.Skip("tested as the model whose program it is")
		}
		test(t, m)
	})
}

// asked is the pattern of the models' names for the long tests.
func asked() string {
	if *whole {
		return "*"
	}
	return "go-goroutine"
}

// TestImages plays the transcripts to the models that are built in seconds, or with -whole to all
// of them.
func TestImages(t *testing.T) {
	if *whole {
		probetest.Service(t, hurry)
		return
	}
	probetest.Models(t, "go-goroutine*", "node-loop", "eve-task")
	t.Log("java-thread, java-virtual and rust-async are part of make whole: they take minutes " +
		"to build")
}

// TestImagesArchive tests that the tests' JVMs take classes from the archive of the build. Nothing
// else would tell: a start without it only takes longer.
func TestImagesArchive(t *testing.T) {
	if !*whole {
		t.Skip("part of make whole: the Java models are not built else")
	}
	probetest.Each(t, "java-*", func(t *testing.T, m *probetest.Subject) {
		log := filepath.Join(t.TempDir(), "classes")
		m.Insert("java", "-Xlog:class+load:file="+log)
		hurry(m)
		m.Refuses(t, "http://")
		loaded, err := os.ReadFile(log)
		if want := "images.Images source: shared objects file (top)"; err != nil ||
			!strings.Contains(string(loaded), want) {
			t.Errorf("the log of classes, %d bytes (%v), lacks %q", len(loaded), err, want)
		}
	})
}

// TestSQLite runs all tests with a server on SQLite. Its disk fills, and it is killed.
func TestSQLite(t *testing.T) {
	each(t, asked(), func(t *testing.T, m *probetest.Subject) {
		t.Parallel()
		hurry(m)
		folder, small := m.Folder(t, diskBytes)
		server := m.Start(t, folder)
		c := newClient(t, server.Port)
		c.everything()
		if *whole {
			c.crowd(server.Group.PID())
		}
		if small {
			c.fullDisk(folder)
		} else {
			t.Log("SKIP: run as root for the test of a full disk")
		}
		acknowledged := c.kill(server)
		server = m.Start(t, folder)
		newClient(t, server.Port).survived(acknowledged)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestPostgreSQL runs all tests with a server on PostgreSQL, which goes away and comes back. With
// -whole that server is then the last one of a chain.
func TestPostgreSQL(t *testing.T) {
	length := 1
	if *whole {
		length = 2
	}
	onPostgreSQL(t, func(t *testing.T, m *probetest.Subject, database *postgres.Server) {
		chain := newChain(t, m, length, database.Database(t))
		last := chain[length-1]
		last.everything()
		last.outage(database)
		if length > 1 {
			last.empty()
			passes(chain)
			crowds(chain)
			without(chain, database)
			dies(t, m, chain)
		}
		for _, l := range chain {
			if err := l.server.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// everything runs the tests for every database.
func (c *client) everything() {
	for _, part := range []struct {
		name string
		play func()
	}{
		{"uploads", c.uploads}, {"names", c.names}, {"lists", c.lists}, {"fetches", c.fetches},
		{"thumbnails", c.thumbnails}, {"deletes", c.deletes},
		{"files", c.files}, {"refusals", c.refusals}, {"broken", c.broken},
		{"together", c.together},
	} {
		begin := time.Now()
		part.play()
		c.t.Logf("%s: %v", part.name, time.Since(begin).Round(time.Millisecond))
	}
}
