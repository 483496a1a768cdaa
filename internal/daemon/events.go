package daemon

import (
	"sync"
	"time"

	"durward"
	"durward/client"
)

// events tells watchers of the service API what happens. Its zero value is ready.
type events struct {
	mu       sync.Mutex // guards watchers
	watchers map[*func(client.Event)]struct{}
}

// watch has f called with what happens until stop is called. f must not block.
func (e *events) watch(f func(client.Event)) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watchers == nil {
		e.watchers = map[*func(client.Event)]struct{}{}
	}
	e.watchers[&f] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, &f)
	}
}

func (e *events) tell(event client.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for f := range e.watchers {
		(*f)(event)
	}
}

// watcher is the service as the gateway's watcher.
type watcher Service

// ServerChanged implements gateway.Watcher.
func (w *watcher) ServerChanged(st durward.ServerStatus) {
	s := (*Service)(w)
	st.Reason = s.secrets.Load().Text(st.Reason)
	s.events.tell(client.Event{Type: client.EventServer, At: time.Now(), Server: &st})
}

// ListsChanged implements gateway.Watcher.
func (w *watcher) ListsChanged(kind string) {
	w.events.tell(client.Event{Type: client.EventLists, At: time.Now(), List: kind})
}
