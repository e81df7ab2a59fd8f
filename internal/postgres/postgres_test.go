package postgres

import "testing"

// A database outlives the end of its server, and another one knows nothing of it.
func TestServer(t *testing.T) {
	s := New(t)
	url, other := s.Database(t), s.Database(t)
	if url == other {
		t.Errorf("two databases have the URL %s", url)
	}
	if err := s.tell("CREATE TABLE kept (x int)"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if s.tell("SELECT 1") == nil {
		t.Error("it answers after its end")
	}
	s.Start()
	if err := s.tell("SELECT * FROM kept"); err != nil {
		t.Error(err)
	}
}
