package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/papaya/corpus"
)

// TestMain is the command itself, where the command runs itself again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-store" {
		main()
		return
	}
	os.Exit(m.Run())
}

// opened returns a store that is filled; nil if the test's program is built without it.
func opened(t *testing.T, of kind, messages int) store {
	s, err := of.open(t.Context(), t.TempDir())
	if err != nil && of.name == "sqlite" && strings.Contains(err.Error(), "built without") {
		return nil
	}
	if err == nil {
		t.Cleanup(func() {
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
		err = s.fill(messages)
	}
	if err != nil {
		t.Fatalf("%s: %v", of.name, err)
	}
	return s
}

// TestAnswersAgree: all stores have as many messages on each page, before and after more were said,
// and find as many. So what is compared is the same work.
func TestAnswersAgree(t *testing.T) {
	const messages = 3000
	own := opened(t, stores[0], messages)
	for _, of := range stores[1:] {
		t.Run(of.name, func(t *testing.T) {
			other := opened(t, of, messages)
			if other == nil {
				t.Skip("SKIP: the test is built without SQLite; TestWithSQLite builds it with it")
			}
			compareAnswers(t, own, other, messages, 1)
		})
	}
	for _, of := range stores[1:] {
		t.Run(of.name+" after more", func(t *testing.T) {
			a, b := opened(t, stores[0], messages), opened(t, of, messages)
			if b == nil {
				t.Skip("SKIP: the test is built without SQLite; TestWithSQLite builds it with it")
			}
			c := corpus.New(99)
			for range 40 {
				said := []corpus.Message{c.Message(), c.Message(), c.Message()}
				if err := errors.Join(a.append(said), b.append(said)); err != nil {
					t.Fatal(err)
				}
			}
			compareAnswers(t, a, b, messages+3*40, 2)
		})
	}
}

func compareAnswers(t *testing.T, own, other store, messages int, seed uint64) {
	t.Helper()
	pages, found := 0, 0
	for _, q := range questions(200, messages, seed) {
		want, err := own.page(q.target, q.before)
		got, otherErr := other.page(q.target, q.before)
		if err := errors.Join(err, otherErr); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("a page of %s before %d has %d messages, Papaya's %d", q.target, q.before, got,
				want)
		}
		pages += want
		want, err = own.search(q.target, q.words)
		got, otherErr = other.search(q.target, q.words)
		if errors.Is(otherErr, errNone) {
			continue
		}
		if err := errors.Join(err, otherErr); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q in %s: %d messages, Papaya has %d", q.words, q.target, got, want)
		}
		found += want
	}
	if pages == 0 {
		t.Error("no page has a message")
	}
	if _, err := other.search("#room0", []string{"none"}); err == nil && found == 0 {
		t.Error("no search finds a message")
	}
}

// TestWithSQLite runs the other tests with SQLite, whose library a machine may lack.
func TestWithSQLite(t *testing.T) {
	if _, err := os.Stat("/usr/include/sqlite3.h"); err != nil {
		t.Skip("SKIP: it needs libsqlite3-dev")
	}
	if s, err := openSQLite(t.Context(), t.TempDir()); err == nil {
		_ = s.close()
		return // this is it
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-tags=libsqlite3",
		"-run=TestAnswersAgree/sqlite|TestTable", ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTable runs the command once for a moment, and looks for each figure.
func TestTable(t *testing.T) {
	folder := t.TempDir()
	words := []string{"-messages", "500", "-batches", "3", "-questions", "5", "-rounds", "2",
		"-folder", folder, "papaya", "bbolt", "jetstream"}
	var out bytes.Buffer
	if err := start(t.Context(), words, nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| | papaya | bbolt | jetstream |",
		"| batch on the disk, median |", "| page, 99 % |", "| page, messages found |",
		"| search, CPU |", "| memory, MB |", "| filling, s of CPU |"} {
		if !strings.Contains(out.String(), "\n"+row) {
			t.Errorf("no row %q in\n%s", row, out.String())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "papaya-beside-*")); left != nil {
		t.Errorf("%q is left", left)
	}
}

// TestWords checks what is refused.
func TestWords(t *testing.T) {
	for _, words := range [][]string{{"-rounds", "0"}, {"mysql"}, {"-messages", "x"},
		{"-store", "mysql"}} {
		err := start(t.Context(), words, strings.NewReader(""), &bytes.Buffer{})
		if _, ok := errors.AsType[usageError](err); !ok {
			t.Errorf("%q: %v", words, err)
		}
	}
}
