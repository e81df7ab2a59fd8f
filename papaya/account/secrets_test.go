package account

import (
	"errors"
	"strings"
	"testing"
)

// TestSecrets: a record is found by its secret only, which is not in the store. The keys are those
// of older versions, whose invitations and tokens stay valid.
func TestSecrets(t *testing.T) {
	store, ctx := &Memory{}, t.Context()
	s, others := Secrets[string]{store, "token."}, Secrets[string]{store, "invitation."}
	const older = "token.88ba3b5d6c0087cb3c51bcd24e1b5d9a4cd10dcd7cbfc4bc5e5c9b87af1f1cd2"
	if key, id := s.key(Secret{"ABC"}); key !=
		"token.b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78" ||
		id != "b5d4045c3f46" {
		t.Errorf("the key of ABC is %s, its ID %s", key, id)
	}
	secret, made, err := s.Add(ctx, func(id string) string { return "the record " + id })
	if err != nil || len(secret.Reveal()) != 26 {
		t.Fatalf("made %q, %v", made, err)
	}
	id := strings.TrimPrefix(made, "the record ")
	keys, _ := store.Keys(ctx, "")
	value, _, _ := store.Get(ctx, keys[0])
	if len(keys) != 1 || strings.Contains(keys[0]+string(value), secret.Reveal()) {
		t.Errorf("the secret is stored: %q %q", keys, value)
	}
	if got, err := s.Find(ctx, secret); err != nil || got.Record != made || got.Key != keys[0] {
		t.Errorf("found %+v, %v", got, err)
	}
	if list, err := s.List(ctx); err != nil || len(list) != 1 || list[0].Record != made {
		t.Errorf("listed %+v, %v", list, err)
	}
	if _, err := others.Find(ctx, secret); !errors.Is(err, ErrAbsent) {
		t.Errorf("a secret of another kind: %v", err)
	}
	for _, wrong := range []string{"", id[:11], id + "0", "*" + id[1:], "000000000000"} {
		if err := s.Remove(ctx, wrong); !errors.Is(err, ErrAbsent) {
			t.Errorf("%q is removed: %v", wrong, err)
		}
	}
	if err := others.Remove(ctx, id); !errors.Is(err, ErrAbsent) {
		t.Errorf("the ID of another kind is removed: %v", err)
	}
	if err := store.Put(ctx, older, []byte("damaged"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(ctx); err == nil || !strings.HasPrefix(err.Error(), older[:18]+": ") {
		t.Errorf("with a damaged record: %v", err)
	}
	if err := s.Remove(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(ctx, secret); !errors.Is(err, ErrAbsent) {
		t.Errorf("after its removal: %v", err)
	}
}
