package record

import "testing"

// TestServers: what no service has was not skipped, in older records either.
func TestServers(t *testing.T) {
	all := []Skip{
		{Service: "echo", Model: "erlang-actor", Reason: "needs erl: apt-get install erlang-base"},
		{Service: "ping", Model: "c-thread-lwip", Reason: NoModel},
		{Service: "transfer", Model: "c-thread-tapip", Reason: "not in this laboratory yet"},
	}
	got := Servers(all)
	if len(got) != 1 || got[0].Model != "erlang-actor" || len(all) != 3 ||
		all[1].Reason != NoModel {
		t.Errorf("got %v of %v", got, all)
	}
	if got := Servers(nil); len(got) != 0 {
		t.Errorf("got %v of none", got)
	}
}
