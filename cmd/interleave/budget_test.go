package main

import (
	"strings"
	"testing"
	"time"

	"interleave/internal/record"
)

func TestBudgets(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10m": 10 * time.Minute, "1h": time.Hour, "90m": 90 * time.Minute,
		"1h30m":     90 * time.Minute,
		"overnight": 8 * time.Hour, "720h": 720 * time.Hour,
	} {
		var b budget
		if err := b.Set(text); err != nil || time.Duration(b) != want {
			t.Errorf("%s: got %v, %v, want %v", text, time.Duration(b), err, want)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1h", "10", "ten minutes", "721h", "1e9h",
		"NaNs"} {
		var b budget
		if err := b.Set(text); err == nil || b != 0 {
			t.Errorf("%q: got %v, want an error", text, time.Duration(b))
		}
	}
	for text, want := range map[string]string{"10m": "quick", "1h59m": "quick", "2h": "normal",
		"overnight": "normal"} {
		var b budget
		if err := b.Set(text); err != nil || b.depth() != want {
			t.Errorf("%s: the windows of %s, %v, want %s", text, b.depth(), err, want)
		}
	}
}

// FuzzBudget: what Set takes is a time that String writes back.
func FuzzBudget(f *testing.F) {
	for _, text := range []string{"10m", "overnight", "-1h", "1h30m", "0", "1ns", "99999999h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b, again budget
		if b.Set(text) != nil {
			return
		}
		if b <= 0 || b > longestBudget {
			t.Fatalf("%q is %v", text, time.Duration(b))
		}
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%q is written as %q, which is %v, %v", text, b.String(),
				time.Duration(again), err)
		}
	})
}

func TestUndecidedClaimsAreToldByReason(t *testing.T) {
	var out strings.Builder
	err := tellOpen(&out, []record.Undecided{
		{Claim: "E2c", Reason: "not decided", Takes: 25 * time.Minute},
		{Claim: "N1c", Reason: "tapip is not here"}, {Claim: "E1a", Reason: "left out",
			Takes: 10 * time.Second}, {Claim: "N1d", Reason: "tapip is not here"},
		{Claim: "G4", Reason: "its windows are too short"},
		{Claim: "H4", Experiment: "go-c10k", Reason: "left out", Takes: time.Hour},
		{Claim: "H4", Experiment: "threads-fibers", Reason: "it lies at its edge"},
	})
	want := "N1c, N1d: tapip is not here\nG4: its windows are too short\n" +
		"H4 of threads-fibers: it lies at its edge\n" +
		"not enough time for 3 claims; each alone would take about:\n" +
		"  E1a (1 min) E2c (25 min) H4 of go-c10k (60 min)\n"
	if got := out.String(); err != nil || got != want {
		t.Errorf("%v: got\n%swant\n%s", err, got, want)
	}
}

func TestMoreTimeIsOffered(t *testing.T) {
	for want, list := range map[string][]record.Undecided{
		"": {{Claim: "N1c", Reason: "tapip is not here"}},
		"\n`interleave run --resume=20260101T000000Z --for 1h` spends an hour more on these\n": {
			{Claim: "N1c", Reason: "tapip is not here"}, {Claim: "E2c", Takes: time.Minute}},
	} {
		var out strings.Builder
		h := record.Header{ID: "20260101T000000Z", Undecided: list}
		if err := tellMore(&out, &h); err != nil || out.String() != want {
			t.Errorf("%+v: got %q, %v, want %q", list, out.String(), err, want)
		}
	}
}
