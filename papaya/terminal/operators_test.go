package terminal

import (
	"slices"
	"testing"
)

// TestOperatorCommands: the commands of operators become the lines that servers know.
func TestOperatorCommands(t *testing.T) {
	u := newUser(t, 100, 24)
	u.connects()
	u.hears(":x 352 ann #tea b bob.example x bob H :0 Bob")
	tests := []struct {
		typed string
		told  string
		want  []string
	}{
		{"/mode", "", []string{"MODE #tea"}},
		{"/mode +m-i", "", []string{"MODE #tea +m-i"}},
		{"/mode #coffee +o bob", "", []string{"MODE #coffee +o bob"}},
		{"/mode ann +B", "", []string{"MODE ann +B"}},
		{"/op bob cat", "", []string{"MODE #tea +oo bob cat"}},
		{"/devoice bob", "", []string{"MODE #tea -v bob"}},
		{"/voice", "how to use it: /voice nick ...", nil},
		{"/ban", "", []string{"MODE #tea b"}},
		{"/ban bob too loud", "", []string{"MODE #tea +b *!*@bob.example",
			"KICK #tea bob :too loud"}},
		{"/ban *!*@h", "", []string{"MODE #tea +b *!*@h"}},
		{"/ban dan", "", []string{"MODE #tea +b dan!*@*"}},
		{"/unban bob", "", []string{"MODE #tea -bb *!*@bob.example bob!*@*"}},
		{"/unban ~a:dan", "", []string{"MODE #tea -b ~a:dan"}},
		{"/unban", "how to use it: /unban nick or mask", nil},
		{"/uban add eve 7d spam", "", []string{"UBAN add eve 7d spam"}},
		{"/reports", "how to use it: /reports list|show|close ...", nil},
	}
	for _, tt := range tests {
		u.sent, u.m.told = nil, ""
		u.m.in.set("")
		u.take(Text(tt.typed)) // a + would make a key of it for presses
		u.presses("enter")
		if !slices.Equal(u.sent, tt.want) || u.m.told != tt.told {
			t.Errorf("%s: sent %q, told %q, want %q, %q", tt.typed, u.sent, u.m.told, tt.want,
				tt.told)
		}
	}
	u.m.look(u.m.session.Status)
	u.sent = nil
	u.presses("/ban bob", "enter")
	if u.m.told != roomsOnly || u.sent != nil {
		t.Errorf("outside of a room: told %q, sent %q", u.m.told, u.sent)
	}
}
