package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/quantity"
	"interleave/internal/record"
)

// TestOffers tells the loads of all protocols in words. The loads are those of the records of
// format 1 that package record has for its tests.
func TestOffers(t *testing.T) {
	run := formerRun(t)
	want := map[string]string{
		"closed": "64 connections, 16_B in closed loop, 4 in flight",
		"open":   "64 connections, 1_500_requests/s of 16_B in open loop, constant gaps",
		"connect": "64 connections, connect, send 16_B, read the reply, close, 100 " +
			"requests each",
		"paced": "64 connections, 1_Mbit/s each in messages of 1_250_B, written into " +
			"a file",
		"counter": "64 connections, 1_B in closed loop, 50_% reads",
		"fanout": "64 clients in one room, of whom 8 in each speak, 8 messages of " +
			"64_B at once and the next when they are acknowledged and the room " +
			"has them",
		"open chat": "64 clients in rooms of 8, all of whom speak, 1_500_messages/s of " +
			"64_B in open loop, constant gaps",
		"ingest":  "64 clients in rooms of 2, 1_Mbit/s each, 10 messages of 106_B at once",
		"idle":    "64 clients in rooms of 8, nothing but a PING of each every 1_s",
		"streams": "64 connections, opened at 2_000 a second, each hears a text a second",
		"images": "64 clients, an image of 17_kB posted and fetched 2 times, through " +
			"a chain of 3 services, in closed loop",
		"images open": "64 clients, an image of 17_kB posted and its thumbnail fetched, " +
			"1_500_a second in open loop, constant gaps",
		"cold": "1 client, an image of 17_kB posted and fetched, 10 times, the " +
			"first of a fresh server",
		"pings":                  "64 pingers, each 56_B every 50_ms, evenly spread",
		"flood":                  "64 pingers, 56_B, the next when the last has been answered",
		"transfers":              "64 clients, connect, send 4_096_B, half-close, wait for the end",
		"bulk in":                "64 connections, as much as goes into the server",
		"bulk out":               "64 connections, as much as comes out of the server",
		"program":                "fib of 30, solved again and again by 2 workers",
		"program that transfers": "2 clients, 50 transfers of 4_096 B each, again and again",
	}
	if len(run.Cells) != len(want) {
		t.Errorf("%d cells, want %d", len(run.Cells), len(want))
	}
	for _, c := range run.Cells {
		got := strings.ReplaceAll(offer(c.Load), quantity.Thin, "_")
		if got != want[c.Point] {
			t.Errorf("%s: got %q, want %q", c.Point, got, want[c.Point])
		}
	}
}

// formerRun is a run of format 1.
func formerRun(t *testing.T) *record.Run {
	t.Helper()
	dir := t.TempDir()
	cells, err := os.ReadFile("../record/testdata/format1.jsonl")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cells.jsonl"), cells, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "run.json"), []byte(`{"version": 1}`), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
