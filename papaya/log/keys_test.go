package log

import (
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestKeysAskTheLeader: on a cluster, no replica that may be behind answers for a key. That holds
// for tables of earlier versions, too.
func TestKeysAskTheLeader(t *testing.T) {
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1",
		Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(5 * time.Minute) {
		t.Fatal("NATS does not start")
	}
	j, err := Open(t.Context(), Options{URL: s.ClientURL(), Replicas: 1, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	js := j.current().js
	if _, err := js.CreateKeyValue(t.Context(),
		jetstream.KeyValueConfig{Bucket: "papaya-older"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"older", "new", "new"} {
		keys, err := j.Keys(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		bucket, err := js.Stream(t.Context(), "KV_papaya-"+name)
		if err != nil {
			t.Fatal(err)
		}
		if bucket.CachedInfo().Config.AllowDirect {
			t.Errorf("any replica may answer for the table %s", name)
		}
		if err := keys.Put(t.Context(), "tea", []byte("green"), 0); err != nil && name == "older" {
			t.Error(err)
		}
		if v, _, err := keys.Get(t.Context(), "tea"); string(v) != "green" || err != nil {
			t.Errorf("in %s, tea is %q, %v", name, v, err)
		}
	}
}
