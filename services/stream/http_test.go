package stream

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestHeadsAlike holds that the servers in C read and answer the same bytes: each has its own
// http.c, so that its folder reads alone, and what one of them learns all must. The fuzzer of
// c-epoll's is thereby a fuzzer of all.
func TestHeadsAlike(t *testing.T) {
	const first = "c-epoll"
	for _, name := range []string{"http.c", "http.h"} {
		want, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		copies, err := filepath.Glob(filepath.Join("c-*", name))
		if err != nil || len(copies) < 3 {
			t.Errorf("%s stands in %q (%v), want it in three models or more", name, copies, err)
		}
		for _, path := range copies {
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not as %s's (%v): copy the one that is right", path, first, err)
			}
		}
	}
}

// TestOneHeadInJava holds that the two servers in Java read heads by one class: the thread's model
// compiles the other's file, is rebuilt when that file changes, and counts its lines.
func TestOneHeadInJava(t *testing.T) {
	const head = "../java-virtual/Head.java"
	text, err := os.ReadFile(filepath.Join("java-thread", "model.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"uses", "build", "source"} {
		line := regexp.MustCompile(`(?m)^` + key + ` .*$`).FindString(string(text))
		if !strings.Contains(line, `"`+head+`"`) {
			t.Errorf("java-thread/model.toml: got %q, want %s in it", line, head)
		}
	}
	copies, err := filepath.Glob(filepath.Join("java-*", "Head.java"))
	if err != nil || !slices.Equal(copies, []string{strings.TrimPrefix(head, "../")}) {
		t.Errorf("Head.java stands in %q (%v), want it once", copies, err)
	}
}
