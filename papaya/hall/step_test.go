package hall

import "testing"

// TestStepIsBounded: one Step brings missed messages to maxSteps clients. Those that do not read
// have no part in it, and all others are served in as many Steps as that takes.
func TestStepIsBounded(t *testing.T) {
	const stuck = 3 * maxSteps
	h := New(Config{}, 0)
	for n := range 3*maxSteps + stuck {
		p := &person{}
		if n >= 3*maxSteps {
			p.waiting = maxCatchUp
		}
		p.sink = p
		h.behind[&p.Client] = true // with nothing left to send: a step ends that
	}
	for _, want := range []int{2 * maxSteps, maxSteps, 0, 0} {
		if got := h.Step() - stuck; got != want {
			t.Errorf("%d clients are left, want %d", got, want)
		}
	}
}
