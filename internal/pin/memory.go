package pin

import (
	"context"
	"sync"
)

// Memory is a store that forgets everything when the process ends. Its zero value
// is ready.
type Memory struct {
	mu   sync.Mutex // guards rows
	rows map[Key]Row
}

var _ Store = (*Memory)(nil)

// LoadPins implements Store.
func (m *Memory) LoadPins(_ context.Context, yield func(Row) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rows {
		r.Raw = nil
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// PinDefinitions implements Store.
func (m *Memory) PinDefinitions(_ context.Context, server, kind, name string) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Row
	for key, r := range m.rows {
		if key.Server == server && key.Kind == kind && key.Name == name {
			out = append(out, r)
		}
	}
	return out, nil
}

// SavePins implements Store.
func (m *Memory) SavePins(_ context.Context, put []Row, drop []Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = map[Key]Row{}
	}
	for _, key := range drop {
		delete(m.rows, key)
	}
	for _, r := range put {
		if r.Raw == nil {
			r.Raw = m.rows[r.Key].Raw
		}
		m.rows[r.Key] = r
	}
	return nil
}
