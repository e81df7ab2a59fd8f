package hall

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimitsOfMetadata: keys, values and subscriptions are bounded, before registration, too, and
// the longest value fits in the line of an answer.
func TestLimitsOfMetadata(t *testing.T) {
	for _, test := range []struct {
		key  string
		want bool
	}{
		{"display-name", true}, {"a.b/c_d-9", true}, {"", false}, {"Color", false}, {"a:b", false},
		{"*", false}, {strings.Repeat("k", maxKeyLen), true},
		{strings.Repeat("k", maxKeyLen+1), false},
	} {
		if got := isFactKey(test.key); got != test.want {
			t.Errorf("key %q: %v", test.key, got)
		}
	}
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	said := func(line string) string {
		p.script.Reset()
		p.step("ann > " + line)
		_, answer, _ := strings.Cut(p.script.String(), "\n")
		return answer
	}
	longest := strings.Repeat("v", maxValue)
	p.step("[connect ann]")
	for i := range maxFacts {
		if got := said(fmt.Sprintf("METADATA * SET key%d :%s", i, longest)); !strings.Contains(got,
			" * :"+longest+"\n") {
			t.Errorf("key %d: %s", i, got)
		}
	}
	for range 2 { // before registration, and afterwards
		if got := said("METADATA * SET one-more :x"); !strings.Contains(got, " LIMIT_REACHED ") {
			t.Errorf("one key more: %s", got)
		}
		for _, value := range []string{longest + "v", "not UTF-8: \xc3("} {
			got := said("METADATA * SET key0 :" + value)
			if !strings.Contains(got, " INVALID_VALUE key0 :A value is UTF-8 ") {
				t.Errorf("the value %q: %s", value, got)
			}
		}
		said("NICK ann")
		said("USER ann 0 * :Ann")
	}
	if got := said("METADATA * LIST"); strings.Count(got, longest) != maxFacts {
		t.Errorf("after registration: %s", got)
	}
	for i := range maxSubs {
		said(fmt.Sprintf("METADATA * SUB key%d", i))
	}
	got := said("METADATA * SUB key1 one-more never")
	if !strings.Contains(got, " 770 ann key1\n") ||
		!strings.Contains(got, " TOO_MANY_SUBS one-more ") || strings.Contains(got, "never") {
		t.Errorf("one subscription more: %s", got)
	}
}
