package play

import (
	"strings"
	"testing"
)

func TestContiguous(t *testing.T) {
	for _, test := range []struct {
		replies [][]uint64
		want    string
	}{
		{[][]uint64{{7, 9}, {8, 10}}, ""},
		{[][]uint64{{1, 2}, {2, 3}}, "two increments were answered with 2"},
		{[][]uint64{{1, 2}, {4, 5}}, "no increment was answered with 3"},
	} {
		err := contiguous(test.replies)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.replies, err, test.want)
		}
	}
}
