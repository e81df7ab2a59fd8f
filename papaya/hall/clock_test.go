package hall

import (
	"testing"
	"time"
)

// A clockHall is a hall for tests of its time: servers a and b write by turns.
type clockHall struct {
	hall   *Hall
	number uint64
}

func (c *clockHall) says(server string, at time.Time) {
	c.number++
	c.hall.Begin(Batch{Server: server, Run: 1, Number: c.number, Time: at.UnixMilli()})
}

// TestClocksThatAreSet: the time of the log follows a clock that was corrected, and no server is
// declared lost because another one's clock was set.
func TestClocksThatAreSet(t *testing.T) {
	const lost = 20 * time.Second
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c := &clockHall{hall: New(Config{Server: "a"}, 0)}
	now := noon
	for _, test := range []struct {
		name string
		set  time.Duration // of a's clock, from then on
		want time.Duration // of the time of the log, from b's clock, which is right
	}{
		{"both are right", 0, 0}, {"a little ahead", 3 * time.Second, 3 * time.Second},
		{"right again", 0, 0},
		{"an hour ahead", time.Hour, time.Hour}, {"put right", 0, 0},
		{"a year ahead", 365 * 24 * time.Hour, 365 * 24 * time.Hour}, {"put right", 0, 0},
		{"an hour behind", -time.Hour, 0}, {"a year behind", -365 * 24 * time.Hour, 0},
		{"put right", 0, 0},
	} {
		now = now.Add(5 * time.Second)
		c.says("a", now.Add(test.set))
		if silent := c.hall.Silent(lost); len(silent) > 0 {
			t.Errorf("%s: given up: %s", test.name, silent[0].Data)
		}
		c.says("b", now)
		if got := time.UnixMilli(c.hall.now).Sub(now); got != test.want {
			t.Errorf("%s: the log is %v ahead, want %v", test.name, got, test.want)
		}
	}
	state, err := c.hall.Save()
	if err != nil {
		t.Fatal(err)
	}
	if c.hall, err = Load(Config{Server: "a"}, state); err != nil {
		t.Fatal(err)
	}
	c.says("a", now)
	for range 3 {
		now = now.Add(5 * time.Second)
		c.says("a", now)
	}
	if silent := c.hall.Silent(lost); len(silent) > 0 {
		t.Errorf("b has said nothing for 15 s: %s", silent[0].Data)
	}
	for range 2 {
		now = now.Add(6 * time.Second)
		c.says("a", now)
	}
	if silent := c.hall.Silent(lost); len(silent) != 1 || string(silent[0].Data) != "b 1" {
		t.Errorf("b has said nothing for 27 s: %v", silent)
	}
}
