package push

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/push/pushtest"
)

// endpoints returns those of an account.
func endpoints(s *Service, account string) (list []string) {
	for _, one := range s.List(account) {
		list = append(list, one.Endpoint)
	}
	return list
}

// TestWhatStays: the server's key and the subscriptions are there after a restart. A device belongs
// to the account that has registered it last, and goes with an account to its new name.
func TestWhatStays(t *testing.T) {
	service, store := pushtest.New(t, true), &account.Memory{}
	s, _ := open(t, store, nil, service)
	phone, laptop, tablet := service.Device(), service.Device(), service.Device()
	register(t, s, "Ann", phone)
	register(t, s, "ann", laptop)
	register(t, s, "bob", tablet)
	register(t, s, "bob", laptop) // ann's laptop is bob's now
	key := s.PublicKey()
	s, _ = open(t, store, nil, service)
	if s.PublicKey() != key || len(key) != 87 {
		t.Errorf("the key was %q, and is %q", key, s.PublicKey())
	}
	if got := endpoints(s, "ann"); !slices.Equal(got, []string{phone.Endpoint}) {
		t.Errorf("ann's devices are %q", got)
	}
	if got := endpoints(s, "BOB"); len(got) != 2 || !slices.Contains(got, laptop.Endpoint) {
		t.Errorf("bob's devices are %q", got)
	}
	for range 2 { // the second time there is nothing to do
		if err := s.Rename(t.Context(), "ann", "Zoe"); err != nil {
			t.Fatal(err)
		}
	}
	if s.Wants("ann") || !s.Wants("zoe") {
		t.Error("the device did not go with the account")
	}
	id := s.List("zoe")[0].ID()
	if err := s.Remove(t.Context(), "bob", id); !errors.Is(err, ErrUnknown) {
		t.Errorf("the device of another account: %v", err)
	}
	if err := s.Unregister(t.Context(), "bob", phone.Endpoint); err != nil || !s.Wants("zoe") {
		t.Errorf("the device of another account: %v", err)
	}
	if err := s.Remove(t.Context(), "zoe", id); err != nil || s.Wants("zoe") {
		t.Errorf("the own device: %v", err)
	}
	if err := s.Forget(t.Context(), "Bob"); err != nil || s.Wants("bob") {
		t.Errorf("a removed account: %v", err)
	}
	if keys, err := store.Keys(t.Context(), prefix); err != nil || len(keys) > 0 {
		t.Errorf("left: %q, %v", keys, err)
	}
}

// TestSeveralServers: servers that share a store have one key, and know each other's subscriptions
// when they look. What both change at once is the last one's.
func TestSeveralServers(t *testing.T) {
	service, store := pushtest.New(t, true), &account.Memory{}
	one, _ := open(t, store, nil, service)
	two, _ := open(t, store, nil, service)
	if one.PublicKey() != two.PublicKey() {
		t.Error("two servers have two keys")
	}
	d := service.Device()
	register(t, one, "ann", d)
	register(t, two, "ann", d) // it does not know the first one
	register(t, one, "bob", d) // nor does this one
	if err := two.book.load(t.Context()); err != nil || two.Wants("ann") || !two.Wants("bob") {
		t.Errorf("ann %v, bob %v, %v", two.Wants("ann"), two.Wants("bob"), err)
	}
	register(t, one, "bob", d)
	if err := two.Unregister(t.Context(), "bob", d.Endpoint); err != nil || two.Wants("bob") {
		t.Errorf("it was renewed meanwhile: %v", err)
	}
	if err := two.Forget(t.Context(), "bob"); err != nil || two.Wants("bob") {
		t.Error(err)
	}
	if keys, err := store.Keys(t.Context(), prefix); err != nil || len(keys) > 0 {
		t.Errorf("left: %q, %v", keys, err)
	}
}

// TestSubscriptionsThatExpire: those that no device has renewed for long are removed, and one that
// is damaged is left out.
func TestSubscriptionsThatExpire(t *testing.T) {
	store := &account.Memory{}
	if err := store.Put(t.Context(), prefix+hashOf("x"), []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_000_000, 0)
	b := &book{store: store, now: func() time.Time { return now },
		logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := b.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	put := func(n int) {
		t.Helper()
		if _, err := b.put(t.Context(), Subscription{Account: "ann",
			Endpoint: fmt.Sprint(n)}, false); err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	put(2)
	now = now.Add(lifetime)
	put(2)
	now = now.Add(time.Second)
	if err := b.expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := b.list("ann")
	if len(list) != 1 || list[0].Endpoint != "2" || list[0].Made.Equal(list[0].Renewed) {
		t.Errorf("left: %+v", list)
	}
	if err := b.drop(t.Context(), list[0]); err != nil || b.wants("ann") {
		t.Errorf("a device that is gone: %v", err)
	}
}
