package quantity

import (
	"math"
	"strings"
	"testing"
	"time"
)

// plain makes thin spaces visible, so that a wrong one is seen.
func plain(s string) string { return strings.ReplaceAll(s, Thin, "_") }

func TestOf(t *testing.T) {
	tests := []struct {
		v    float64
		unit string
		want string
	}{
		{223_456, "requests/s", "223_k_requests/s"},
		{9_994, "requests/s", "9_990_requests/s"},
		{9_996, "requests/s", "10.0_k_requests/s"},
		{999_600, "requests/s", "1.00_M_requests/s"},
		{1_234, "requests/s", "1_230_requests/s"},
		{5.1, "µs/request", "5.10_µs/request"},
		{9.996, "µs/request", "10.0_µs/request"},
		{.0312, "µs", "31.2_ns"},
		{999.6, "µs", "1.00_ms"},
		{1_270, "µs", "1.27_ms"},
		{2.5e6, "µs", "2.50_s"},
		{0, "µs", "0_µs"},
		{34_389_196, "bytes", "32.8_MiB"},
		{1023.9, "bytes", "1.00_KiB"},
		{512, "bytes", "512_B"},
		{284.9e6, "bit/s", "285_Mbit/s"},
		{12, "bit/s", "12.0_bit/s"},
		{.0612, "", "0.0612"},
		{11.2, "% of a core", "11.2_% of a core"},
		{-1.5, "", "−1.50"},
		{math.NaN(), "µs", "–"},
		{math.Inf(1), "", "∞"},
	}
	for _, tt := range tests {
		if got := plain(Of(tt.v, tt.unit)); got != tt.want {
			t.Errorf("Of(%v, %q) = %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

func TestTick(t *testing.T) {
	tests := []struct {
		v    float64
		unit string
		want string
	}{
		{0, "bytes", "0"},
		{284.9e6, "bit/s", "285_Mbit/s"},
		{50_000, "requests/s", "50_k"},
		{5_000, "requests/s", "5_000"},
		{1_500, "µs", "1.5_ms"},
		{.25, "", "0.25"},
		{1.25, "", "1.25"},
		{100, "% of a core", "100"},
	}
	for _, tt := range tests {
		if got := plain(Tick(tt.v, tt.unit)); got != tt.want {
			t.Errorf("Tick(%v, %q) = %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

func TestShort(t *testing.T) {
	if got, want := plain(Short(223_456, "requests/s")), "223_k"; got != want {
		t.Errorf("Short = %q, want %q", got, want)
	}
}

func TestEstimate(t *testing.T) {
	tests := []struct {
		v, low, high float64
		unit, want   string
	}{
		{.932, .86, 1.012, "", "0.932 (0.860–1.012)"},
		{183_000, 180_200, 186_000, "requests/s", "183 (180–186)_k"},
		{9_000, 8_000, 11_000, "requests/s", "9_000 (8_000–11_000)"},
		{1_270, 980, 1_310, "µs", "1.27 (0.98–1.31)_ms"},
		{8.39 * (1 << 20), 8 * (1 << 20), 1 << 23, "bytes", "8.39 (8.00–8.00)_MiB"},
		{1.8, 0, math.Inf(1), "", "1.80 (0.00–∞)"},
		{math.NaN(), 0, 1, "", "–"},
		{5.2, 5.1, 5.3, "µs/request", "5.20 (5.10–5.30)"},
	}
	for _, tt := range tests {
		if got := plain(Estimate(tt.v, tt.low, tt.high, tt.unit)); got != tt.want {
			t.Errorf("Estimate(%v, %v, %v, %q) = %q, want %q", tt.v, tt.low, tt.high, tt.unit, got,
				tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{221 * time.Second, "3_min 41_s"},
		{45 * time.Millisecond, "45.0_ms"},
		{1200 * time.Millisecond, "1.20_s"},
		{59*time.Second + 700*time.Millisecond, "1_min"},
		{2*time.Hour + 90*time.Second, "2_h 2_min"},
		{0, "0_µs"},
	}
	for _, tt := range tests {
		if got := plain(Duration(tt.d)); got != tt.want {
			t.Errorf("Duration(%v) = %q, want %q", tt.d, got, tt.want)
		}
	}
}

func TestCountPercentBits(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Count(1_048_576), "1_048_576"},
		{Count(-12), "−12"},
		{Percent(.0314), "3.1_%"},
		{Percent(1), "100_%"},
		{Bits(1e6), "1_Mbit/s"},
		{Bits(1_500), "1.5_kbit/s"},
		{Setting(4500 * time.Millisecond), "4.5_s"},
		{Setting(time.Second), "1_s"},
		{Setting(500 * time.Millisecond), "500_ms"},
	} {
		if plain(tt.got) != tt.want {
			t.Errorf("got %q, want %q", plain(tt.got), tt.want)
		}
	}
}
