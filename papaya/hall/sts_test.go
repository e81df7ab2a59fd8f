package hall

import (
	"strings"
	"testing"
	"time"
)

// TestSTS: the policy is told to clients of CAP LS 302, with the port only where there is no TLS,
// and it is no capability that can be requested or listed.
func TestSTS(t *testing.T) {
	month := &STS{Port: 6697, Duration: 30 * 24 * time.Hour}
	for _, test := range []struct {
		policy *STS
		secure bool
		ls     string
		want   string // empty: nothing is told
	}{
		{month, true, "302", "sts=duration=2592000"},
		{month, false, "302", "sts=port=6697,duration=2592000"},
		{month, true, "303", "sts=duration=2592000"},
		{month, true, "301", ""}, {month, false, "", ""},
		{&STS{Port: 6697}, true, "302", "sts=duration=0"},
		{&STS{Port: 6697}, false, "302", ""},
		{nil, true, "302", ""}, {nil, false, "302", ""},
	} {
		p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
		p.add("a")
		h := p.halls["a"].hall
		h.config.STS = test.policy
		p.direct([]string{"connect", "ann"})
		p.people["ann"].Secure = test.secure
		p.script.Reset()
		p.step("ann > CAP LS " + test.ls)
		got := ""
		for word := range strings.FieldsSeq(p.script.String()) {
			if strings.HasPrefix(strings.TrimPrefix(word, ":"), "sts") {
				got += strings.TrimPrefix(word, ":")
			}
		}
		if got != test.want {
			t.Errorf("%+v, TLS %v, CAP LS %s: told %q, want %q", test.policy, test.secure, test.ls,
				got, test.want)
		}
		p.script.Reset()
		p.step("ann > CAP REQ :sts")
		p.step("ann > CAP LIST")
		if got := p.script.String(); !strings.Contains(got, " NAK :sts\n") ||
			!strings.HasSuffix(got, " LIST :\n") {
			t.Errorf("it can be requested: %s", got)
		}
	}
}
