package stats

// The rank methods against scipy, whose values lie in testdata/scipy.json;
// testdata/fixtures.py wrote them.

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

type rankFixture struct {
	Name      string
	X, A, B   []float64
	Theta     float64
	Statistic float64
	Less      float64
	Greater   float64
	TwoSided  float64 `json:"two_sided"`
}

type intervalFixture struct {
	Name                   string
	X                      []float64
	Level, Estimate        float64
	Lower, Upper, Attained float64
}

type fixtures struct {
	SignedRank    []rankFixture     `json:"signed_rank"`
	HodgesLehmann []intervalFixture `json:"hodges_lehmann"`
	MannWhitney   []rankFixture     `json:"mann_whitney"`
	LogLog        struct {
		X, Y             []float64
		Slope, Intercept float64
	} `json:"log_log"`
}

func readFixtures(t *testing.T) fixtures {
	t.Helper()
	text, err := os.ReadFile("testdata/scipy.json")
	if err != nil {
		t.Fatal(err)
	}
	var f fixtures
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.SignedRank) == 0 || len(f.HodgesLehmann) == 0 || len(f.MannWhitney) == 0 {
		t.Fatal("testdata/scipy.json: a section is empty")
	}
	return f
}

// near compares with what is left of 16 digits after a few hundred additions.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 1e-11*max(1, math.Abs(want)) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

func checkRankTest(t *testing.T, f rankFixture, got RankTest) {
	t.Helper()
	near(t, f.Name+": statistic", got.Statistic, f.Statistic)
	near(t, f.Name+": less", got.Less, f.Less)
	near(t, f.Name+": greater", got.Greater, f.Greater)
	near(t, f.Name+": two-sided", got.TwoSided, f.TwoSided)
}

func TestSignedRankAgainstScipy(t *testing.T) {
	for _, f := range readFixtures(t).SignedRank {
		checkRankTest(t, f, SignedRank(f.X, f.Theta))
	}
}

func TestHodgesLehmannAgainstScipy(t *testing.T) {
	for _, f := range readFixtures(t).HodgesLehmann {
		iv := HodgesLehmann(f.X, f.Level)
		near(t, f.Name+": estimate", iv.Estimate, f.Estimate)
		near(t, f.Name+": lower", iv.Lower, f.Lower)
		near(t, f.Name+": upper", iv.Upper, f.Upper)
		near(t, f.Name+": attained", iv.Attained, f.Attained)
		if want := f.Attained < f.Level; iv.Short() != want {
			t.Errorf("%s: short is %t, want %t", f.Name, iv.Short(), want)
		}
	}
}

func TestLinesAgainstScipy(t *testing.T) {
	f := readFixtures(t)
	near(t, "log-log slope", LogLogSlope(f.LogLog.X, f.LogLog.Y), f.LogLog.Slope)
	slope, intercept := Slope(logs(f.LogLog.X), logs(f.LogLog.Y))
	near(t, "slope", slope, f.LogLog.Slope)
	near(t, "intercept", intercept, f.LogLog.Intercept)
}
