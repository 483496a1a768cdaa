package control

import (
	"net/http"
	"sync"
	"time"

	"durward/client"
)

// Bounds of a stream of server-sent events.
const (
	maxWaiting   = 256              // events that wait for a slow reader; then the oldest are dropped
	writeTimeout = 30 * time.Second // for one event; a reader that takes nothing for so long is dropped
)

// stream is a stream of server-sent events. What is put into it never blocks.
type stream struct {
	w         http.ResponseWriter
	out       *http.ResponseController
	r         *request
	done      <-chan struct{}
	keepAlive time.Duration
	more      chan struct{} // has an element when something waits

	mu      sync.Mutex // guards all below
	waiting []event
	lost    int
	ended   bool // the last event was put
}

type event struct {
	name string
	data any
}

func newStream(w http.ResponseWriter, r *request, opt Options) *stream {
	return &stream{w: w, out: http.NewResponseController(w), r: r, done: opt.Done, keepAlive: opt.KeepAlive, more: make(chan struct{}, 1)}
}

// put sends an event when the reader is ready for it.
func (s *stream) put(name string, data any) { s.add(event{name, data}, false) }

// last is put for the last event.
func (s *stream) last(name string, data any) { s.add(event{name, data}, true) }

func (s *stream) add(e event, last bool) {
	s.mu.Lock()
	if len(s.waiting) >= maxWaiting && !s.ended {
		s.waiting = s.waiting[1:]
		s.lost++
	}
	if !s.ended {
		s.waiting = append(s.waiting, e)
	}
	s.ended = s.ended || last
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// take returns what waits, how many were dropped before it, and whether no more comes.
func (s *stream) take() (waiting []event, lost int, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, lost = s.waiting, s.lost
	s.waiting, s.lost = nil, 0
	return waiting, lost, s.ended
}

// run writes until the last event is written, the reader goes away or the service
// ends. onLost, which may be nil, makes the event that tells of dropped ones.
func (s *stream) run(onLost func(n int) event) {
	s.begin()
	tick := time.NewTicker(s.keepAlive)
	defer tick.Stop()
	if !s.write(":\n\n") { // so that the reader knows that it is heard
		return
	}
	for {
		select {
		case <-s.r.Context().Done():
			return
		case <-s.done:
			return
		case <-tick.C:
			if !s.write(":\n\n") {
				return
			}
		case <-s.more:
			waiting, lost, ended := s.take()
			if lost > 0 && onLost != nil {
				waiting = append([]event{onLost(lost)}, waiting...)
			}
			for _, e := range waiting {
				if !s.send(e) {
					return
				}
			}
			if ended {
				return
			}
		}
	}
}

// begin sends the headers.
func (s *stream) begin() {
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) send(e event) bool { return s.write(eventText(e)) }

func eventText(e event) string {
	data, err := encode(e.data)
	if err != nil {
		data, _ = encode(failure(err)) // a failure always encodes
		e.name = "error"
	}
	return "event: " + e.name + "\ndata: " + string(data) + "\n"
}

func (s *stream) write(text string) bool {
	_ = s.out.SetWriteDeadline(time.Now().Add(writeTimeout)) // where it is not supported nothing bounds the write
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.out.Flush() == nil
}

// events sends what happens in the service.
func (a *api) events(w http.ResponseWriter, r *request) error {
	s := newStream(w, r, a.opt)
	stop := a.opt.Watch(func(e client.Event) { s.put(e.Type, e) })
	defer stop()
	s.run(func(n int) event {
		return event{client.EventLost, client.Event{Type: client.EventLost, At: time.Now(), Lost: n}}
	})
	return nil
}
