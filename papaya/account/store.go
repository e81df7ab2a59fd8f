package account

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// A Store keeps values by key. A writer names the revision that it has read, so one of two
// concurrent writers fails. JetStream's key-value buckets are such a store. Keys may contain
// letters, digits, `-`, `_`, `=`, `/` and `.`.
type Store interface {
	// Get returns ErrAbsent for a missing key.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put replaces the value if it still has the revision; 0 stands for a missing key. Otherwise it
	// returns ErrChanged.
	Put(ctx context.Context, key string, value []byte, revision uint64) error
	// Delete removes a key that still has the revision. Otherwise it returns ErrChanged.
	Delete(ctx context.Context, key string, revision uint64) error
	// Keys returns the keys that begin with prefix, in order.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// The errors of a Store, besides failures.
var (
	ErrAbsent  = errors.New("no such key")
	ErrChanged = errors.New("changed meanwhile")
)

// Memory is a Store in memory. The zero value is empty.
type Memory struct {
	mu     sync.Mutex
	last   uint64
	values map[string]entry
}

type entry struct {
	value    []byte
	revision uint64
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.values[key]
	if !ok {
		return nil, 0, ErrAbsent
	}
	return bytes.Clone(e.value), e.revision, nil
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, key string, value []byte, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[key].revision != revision {
		return ErrChanged
	}
	if m.values == nil {
		m.values = map[string]entry{}
	}
	m.last++
	m.values[key] = entry{bytes.Clone(value), m.last}
	return nil
}

// Delete implements Store.
func (m *Memory) Delete(_ context.Context, key string, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[key].revision != revision {
		return ErrChanged
	}
	delete(m.values, key)
	return nil
}

// Keys implements Store.
func (m *Memory) Keys(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for k := range m.values {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
