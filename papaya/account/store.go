package account

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// A Store keeps values by key and lets one writer win: who writes says which revision it has
// seen. JetStream's key-value buckets are such a store. Keys hold letters, digits, `-`, `_`, `=`,
// `/` and `.` only.
type Store interface {
	// Get has ErrAbsent for a key that is not there.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put replaces the value of that revision, 0 for a key that must not be there;
	// otherwise ErrChanged.
	Put(ctx context.Context, key string, value []byte, revision uint64) error
	// Delete removes a key of that revision; otherwise ErrChanged.
	Delete(ctx context.Context, key string, revision uint64) error
	// Keys are those that begin with prefix, in order.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// What a Store fails with, when it works.
var (
	ErrAbsent  = errors.New("no such key")
	ErrChanged = errors.New("changed meanwhile")
)

// Memory is a Store that lasts as long as its process. The zero value is empty.
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
