package findings

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"interleave/internal/stats"
)

func TestCompareTellsHowMachinesStand(t *testing.T) {
	a, b := Of(smallRun(t, 1), nil), Of(smallRun(t, 3), nil)
	c := Compare(a, b)
	want := map[string]Told{"E2a": Differ, "E2b": Neither, "E1c": Neither, "E4a": Agree,
		"E8a": Agree}
	for _, p := range c.Claims {
		if p.Told != want[p.Claim] {
			t.Errorf("%s: %s, want %s", p.Claim, p.Told, want[p.Claim])
		}
	}
	for _, p := range c.Ratios {
		want := map[string]Told{"go-goroutine": Agree, "node-loop": Differ}
		if p.Model != "c-uring" && p.Told != want[p.Model] {
			t.Errorf("%s: %s %v %v, want %s", p.Model, p.Told, p.A, p.B, want[p.Model])
		}
	}
	if len(c.Ratios) != 12 || c.OnlyA+c.OnlyB > 0 || c.Ratios[0].Model != "node-loop" {
		t.Errorf("%d ratios, only in A %d, only in B %d, the first of %s", len(c.Ratios), c.OnlyA,
			c.OnlyB, c.Ratios[0].Model)
	}
	same := Compare(a, a)
	for _, p := range same.Ratios {
		if p.Told == Differ || p.Told == OneOnly || p.Apart {
			t.Errorf("%s against itself: %s, apart %v", p.Model, p.Told, p.Apart)
		}
	}
	if len(same.Gaps) > 0 {
		t.Errorf("one machine differs from itself in %v", same.Gaps)
	}
}

func TestCompareOtherTrees(t *testing.T) {
	a, b := Of(smallRun(t, 1), nil), Of(smallRun(t, 1), nil)
	for i := range b.Claims {
		c := &b.Claims[i]
		switch c.ID {
		case "E2a":
			c.Margin = 1.5
		case "E4a":
			c.Word = stats.NotMeasured
		case "E8a":
			c.Word = stats.Inconclusive
		case "E2b":
			c.ID = "E99"
		}
	}
	b.Tables[0].Baseline = "c-uring"
	b.Tables[1].Rows = b.Tables[1].Rows[:2]
	c := Compare(a, b)
	want := map[string]Told{"E2a": Changed, "E4a": Missing, "E8a": OneOnly, "E2b": Missing,
		"E99": Missing, "E1c": Neither}
	for _, p := range c.Claims {
		if p.Told != want[p.Claim] {
			t.Errorf("%s: %s, want %s", p.Claim, p.Told, want[p.Claim])
		}
		if p.Claim == "E99" && (p.A != "" || p.B != stats.Inconclusive) {
			t.Errorf("E99 is only in B, got %q and %q", p.A, p.B)
		}
	}
	if c.OnlyA != 5 || c.OnlyB != 3 {
		t.Errorf("only in A %d, only in B %d, want 5 and 3", c.OnlyA, c.OnlyB)
	}
}

func TestComparisonsOfMany(t *testing.T) {
	a, b := Of(smallRun(t, 1), nil), Of(smallRun(t, 2), nil)
	for i := range a.Tables {
		for n := range 30 {
			name := strings.Repeat("m", n+1)
			a.Tables[i].Rows = append(a.Tables[i].Rows, Row{name, 1, Span{2, 1.9, 2.1}, 8})
			b.Tables[i].Rows = append(b.Tables[i].Rows, Row{name, 1, Span{3, 2.9, 3.1}, 8})
		}
	}
	c := Compare(a, b)
	var text, data bytes.Buffer
	if err := c.Text(&text, 80); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "and 104 more") {
		t.Errorf("the list is not cut:\n%s", text.String())
	}
	if err := c.JSON(&data); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Ratios []struct{ Told Told }
	}
	if err := json.Unmarshal(data.Bytes(), &read); err != nil || len(read.Ratios) != 132 {
		t.Errorf("the JSON has %d ratios, want 132: %v", len(read.Ratios), err)
	}
}
