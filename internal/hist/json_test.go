package hist

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// The example of the package comment. If this test has to change, old records can no
// longer be read.
const example = `{"unit":"ns","sub":128,"n":3,"min":5,"max":1001,"sum":1307,"buckets":[[5,1],[278,1],[506,1]]}`

func TestFormOnDisk(t *testing.T) {
	var h Histogram
	for _, ns := range []int64{301, 5, 1001} {
		h.Record(ns)
	}
	if got, err := json.Marshal(h); err != nil || string(got) != example {
		t.Errorf("got  %s, %v\nwant %s", got, err, example)
	}
	var back Histogram
	if err := json.Unmarshal([]byte(example), &back); err != nil || back != h {
		t.Errorf("reading back: %v, equal %t", err, back == h)
	}
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, sample := range samplers {
		for _, n := range []int{0, 1, 1000} {
			var h, back Histogram
			for range n {
				h.Record(sample(r) - 2)
			}
			b, err := json.Marshal(&h)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &back); err != nil || back != h {
				t.Errorf("%s, n=%d: %v, equal %t", name, n, err, back == h)
			}
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"other unit", `"ns"`, `"us"`, `unit is "us"`},
		{"other resolution", `"sub":128`, `"sub":64`, "sub is 64"},
		{"absent key", `"min":5,`, ``, "needs the keys"},
		{"unknown key", `"n":3`, `"n":3,"m":3`, "unknown field"},
		{"wrong count", `"n":3`, `"n":4`, "n is 4, the buckets hold 3"},
		{"min elsewhere", `"min":5`, `"min":6`, "min 6 is not in the first bucket"},
		{"max elsewhere", `"max":1001`, `"max":1101`, "max 1101 is not in the last bucket"},
		{"negative min", `"min":5`, `"min":-5`, "min is -5"},
		{"max below min", `"max":1001`, `"max":4`, "max is 4"},
		{"sum too small", `"sum":1307`, `"sum":1303`, "sum 1303 is outside 1305 to 1309"},
		{"sum too large", `"sum":1307`, `"sum":1310`, "sum 1310 is outside"},
		{"negative without zeros", `"sum":1307`, `"sum":1307,"negative":1`, "negative is 1"},
		{"out of order", `[278,1],[506,1]`, `[506,1],[278,1]`, "index 278 after 506"},
		{"twice", `[278,1]`, `[5,1]`, "index 5 after 5"},
		{"empty bucket", `[278,1]`, `[278,0]`, "bucket 1 is empty"},
		{"index too large", `[506,1]`, `[7296,1]`, "the last is 7295"},
		{"triple", `[278,1]`, `[278,1,1]`, "bucket 1 is not [index, count]"},
		{"single", `[278,1]`, `[278]`, "bucket 1 is not [index, count]"},
		{"null count", `[278,1]`, `[278,null]`, "bucket 1 is not [index, count]"},
		{"fraction", `[278,1]`, `[278,1.5]`, "cannot unmarshal"},
		{"overflow", `[278,1]`, `[278,18446744073709551615]`, "more than 2^64-1"},
		{"null", example, `null`, "needs the keys"},
		{"not empty though n is 0", `"n":3`, `"n":0`, "n is 0"},
		{"array", example, `[]`, "cannot unmarshal"},
		{"more after it", example, example + `]`, "invalid character"},
		{"cut off", `]]}`, `]]`, "unexpected end"},
	}
	for _, tt := range tests {
		h := Histogram{}
		h.Record(9)
		before := h
		err := json.Unmarshal([]byte(strings.Replace(example, tt.old, tt.new, 1)), &h)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if h != before {
			t.Errorf("%s: the histogram changed", tt.name)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"unit":"ns","sub":128,"n":0,"min":0,"max":0,"sum":0,"buckets":[]}`))
	f.Add([]byte(`{"unit":"ns","sub":128,"n":2,"min":0,"max":0,"sum":0,"negative":1,"buckets":[[0,2]]}`))
	f.Add([]byte(`{"unit":"ns","sub":128,"n":1,"min":9223372036854775807,"max":9223372036854775807,` +
		`"sum":9223372036854775807,"buckets":[[7295,1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h, back Histogram
		if h.UnmarshalJSON(data) != nil {
			return
		}
		b, err := h.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalJSON(b); err != nil || back != h {
			t.Fatalf("%s: read, written and read again: %v, equal %t", data, err, back == h)
		}
		if q := h.Quantile(.5); q < h.Min() || q > h.Max() {
			t.Errorf("median %d outside %d to %d", q, h.Min(), h.Max())
		}
	})
}
