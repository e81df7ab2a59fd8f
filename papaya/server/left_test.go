package server

import "testing"

// TestNothingFollowsTheEnd sends lines behind one that ends the connection, all in one packet.
func TestNothingFollowsTheEnd(t *testing.T) {
	ends := map[string]string{"QUIT": "QUIT :bye", "NUL": "PRIVMSG #tea :a\x00b"}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			srv := open(t, t.TempDir(), nil)
			bob := srv.connect().Register("bob", "#tea")
			ann := srv.connect().Register("ann", "#tea")
			synced(ann)
			ann.Send("PRIVMSG #tea :before\r\n%s\r\nPRIVMSG #tea :behind\r\nTOPIC #tea :2", end)
			bob.Expect("PRIVMSG #tea :before")
			got := bob.Expect(":ann!ann@127.0.0.1 QUIT")
			if len(got) != 1 {
				t.Errorf("before her QUIT bob receives %q", got)
			}
		})
	}
}
