package play

import "sync"

// A keeper has what the verbs of a vocabulary remember of a play or of a client, each in a type of
// its own.
type keeper struct {
	mu   sync.Mutex
	kept map[any]any // by a nil pointer of the value's type
}

func (k *keeper) self() *keeper { return k }

// Keep returns what is remembered of a play or of a client in a value of type T. At the first call
// begin makes it. Any goroutine may call Keep.
func Keep[T any](of interface{ self() *keeper }, begin func() *T) *T {
	k := of.self()
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept, ok := k.kept[(*T)(nil)].(*T); ok {
		return kept
	}
	if k.kept == nil {
		k.kept = map[any]any{}
	}
	value := begin()
	k.kept[(*T)(nil)] = value
	return value
}

// A Watcher is a value of Keep that is told of new clients. Each client of a group calls it in a
// goroutine of its own.
type Watcher interface{ Dialled(c *Client) }

// dialled tells all watchers that a client has connected.
func (k *keeper) dialled(c *Client) {
	k.mu.Lock()
	var watchers []Watcher
	for _, kept := range k.kept {
		if w, ok := kept.(Watcher); ok {
			watchers = append(watchers, w)
		}
	}
	k.mu.Unlock()
	for _, w := range watchers {
		w.Dialled(c)
	}
}
