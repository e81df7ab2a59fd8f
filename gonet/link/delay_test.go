package link

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestLineKeepsOrder has many frames due at one instant, and one that came last but is due first.
func TestLineKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l delayLine
		var got, want []int
		for i := range 1000 {
			l.put(2*time.Millisecond, func() { got = append(got, i) })
			want = append(want, i)
		}
		l.put(time.Millisecond, func() { got = append(got, -1) })
		time.Sleep(time.Second)
		synctest.Wait()
		if want = append([]int{-1}, want...); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
