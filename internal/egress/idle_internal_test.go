package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/testkit/pipenet"
)

// keeper is a server that says for how long it keeps connections, and a client of it.
type keeper struct {
	t     *testing.T
	rt    *patient
	dials int          // of which the client knows
	open  atomic.Int32 // connections of the client
	goOn  chan struct{}
}

func newKeeper(t *testing.T, says string) *keeper {
	t.Helper()
	k := &keeper{t: t, goOn: make(chan struct{})}
	at := pipenet.Listen()
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if says != "" {
			w.Header().Set("Keep-Alive", says)
		}
		_, _ = io.WriteString(w, "begun")
		if r.URL.Path == "/long" {
			_ = http.NewResponseController(w).Flush()
			<-k.goOn
		}
		_, _ = io.WriteString(w, ", ended")
	})}
	served := make(chan error, 1)
	go func() { served <- web.Serve(at) }()
	k.rt = newPatient(&http.Transport{IdleConnTimeout: idleTimeout, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		k.dials++
		conn, err := at.Dial(ctx, network, address)
		if err == nil {
			k.open.Add(1)
			conn = &closing{Conn: conn, open: &k.open}
		}
		return conn, err
	}})
	t.Cleanup(func() {
		k.rt.CloseIdleConnections()
		if err := web.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return k
}

// closing is a connection that is counted until it is closed.
type closing struct {
	net.Conn
	open *atomic.Int32
	done atomic.Bool
}

// Close implements net.Conn.
func (c *closing) Close() error {
	if c.done.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// ask begins a request.
func (k *keeper) ask(path string) *http.Response {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), http.MethodGet, "http://keeper"+path, http.NoBody)
	if err != nil {
		k.t.Fatal(err)
	}
	resp, err := k.rt.RoundTrip(req)
	if err != nil {
		k.t.Fatal(err)
	}
	return resp
}

// read reads an answer to its end, after which its connection is idle.
func (k *keeper) read(resp *http.Response) {
	k.t.Helper()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "begun, ended" {
		k.t.Errorf("%q, %v", text, err)
	}
	if err := resp.Body.Close(); err != nil {
		k.t.Error(err)
	}
	synctest.Wait()
}

// A connection is not used again shortly before the server closes it, as it says.
func TestConnectionsAreKeptNoLongerThanTheServerKeepsThem(t *testing.T) {
	const moment = time.Millisecond
	for says, kept := range map[string]time.Duration{
		"timeout=5":          4 * time.Second,
		"Timeout= 5":         4 * time.Second,
		"max=100, timeout=2": time.Second,
		"timeout=1":          500 * time.Millisecond,
		"timeout=0":          time.Millisecond,
		"timeout=3600":       idleTimeout,
		"timeout=65536":      idleTimeout, // more than is believed
		"timeout=-1":         idleTimeout,
		"timeout":            idleTimeout,
		"":                   idleTimeout,
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKeeper(t, says)
				k.read(k.ask("/"))
				k.read(k.ask("/")) // the first answer said for how long
				before := k.dials
				time.Sleep(kept - moment)
				if k.read(k.ask("/")); k.dials != before {
					t.Errorf("within %s there was another connection", kept)
				}
				time.Sleep(kept + moment)
				if k.read(k.ask("/")); k.dials != before+1 {
					t.Errorf("after %s there were %d other connections", kept, k.dials-before)
				}
			})
		})
	}
}

// Answers that are being read when the time gets shorter are read to their ends, and
// their connections are closed with all others.
func TestAShorterTimeCutsNoAnswerOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, "timeout=3")
		first := k.rt.current.Load()
		long, other := k.ask("/long"), k.ask("/")
		if k.rt.current.Load() == first {
			t.Fatal("the time is not shorter")
		}
		close(k.goOn)
		k.read(long)
		k.read(other)
		k.rt.CloseIdleConnections()
		synctest.Wait()
		if n := k.open.Load(); n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}
