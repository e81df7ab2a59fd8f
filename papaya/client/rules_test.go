package client

import (
	"slices"
	"testing"
)

// TestMasksOfARoom: masks are shown with who has set them and when, whatever a server leaves out.
func TestMasksOfARoom(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	connect(t, s, full)
	s.Look(s.Find("#tea"))
	before := len(s.Active().Messages)
	hear(t, s, ":x 367 ann #tea eve!*@* bob!b@h 1795000000", ":x 728 ann #tea q ~a:dan bob 0",
		":x 348 ann #tea *!*@h", ":x 346 ann #tea", ":x 728 ann #tea q", ":x 367")
	var got []string
	for _, m := range s.Active().Messages[before:] {
		got = append(got, m.Text)
	}
	want := []string{"banned in #tea: eve!*@*, by bob, 2026-11-18 11:06 UTC",
		"quiet in #tea: ~a:dan, by bob, 1970-01-01 00:00 UTC", "exception in #tea: *!*@h"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBanMasks: a member is banned by its host, which WHO and JOIN tell, and anybody else by name.
func TestBanMasks(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	connect(t, s, full)
	hear(t, s, ":x 352 ann #tea b bob.example x bob H :0 Bob", ":eve!e@eve.example JOIN #tea",
		":x 353 ann = #tea :@ann bob eve cat", ":x 366 ann #tea :end")
	tests := []struct {
		who  string
		want []string
	}{
		{"BOB", []string{"*!*@bob.example", "BOB!*@*"}},
		{"eve", []string{"*!*@eve.example", "eve!*@*"}},
		{"cat", []string{"cat!*@*"}},
		{"nobody", []string{"nobody!*@*"}},
		{"~a:dan", []string{"~a:dan"}},
		{"*!*@h", []string{"*!*@h"}},
	}
	for _, tt := range tests {
		if got := s.BanMasks(s.Find("#tea"), tt.who); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.who, got, tt.want)
		}
	}
}
