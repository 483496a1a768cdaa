package hold_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/hold"
	"durward/internal/testkit/leftover"
	"durward/internal/wire"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// all is what a client declares that can be asked for everything.
const all = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

const ms = time.Millisecond

func owner() hold.Owner { return hold.Owner{Principal: "p", Server: "s"} }

// answers are those of a client, by key.
type answers map[string]string

func (a answers) of(key string) []byte {
	if v, ok := a[key]; ok {
		return []byte(v)
	}
	return nil
}

// rig is a table and a client of it, in a bubble of synthetic time.
type rig struct {
	t     *testing.T
	table *hold.Table
	start time.Time
}

// in runs f in a bubble; the table is closed at its end, after which no goroutine may be left.
func in(t *testing.T, o hold.Options, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, table: hold.New(o), start: time.Now()}
		f(t, r)
		if err := r.table.Close(); err != nil {
			t.Error(err)
		}
		if n := r.table.Len(); n != 0 {
			t.Errorf("%d calls are held by a closed table", n)
		}
	})
}

func (r *rig) begin(do hold.Call) hold.Turn { return r.beginAs(owner(), all, do) }

func (r *rig) beginAs(o hold.Owner, capabilities string, do hold.Call) hold.Turn {
	r.t.Helper()
	turn, err := r.table.Begin(r.t.Context(), o, []byte(capabilities), nil, do)
	if err != nil {
		r.t.Fatal(err)
	}
	return turn
}

func (r *rig) resume(turn hold.Turn, a answers) hold.Turn {
	r.t.Helper()
	next, err := r.table.Resume(r.t.Context(), owner(), turn.ID, turn.Round, []byte(all), a.of, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return next
}

// lost checks that a turn can not be resumed.
func (r *rig) lost(o hold.Owner, id string, round int) {
	r.t.Helper()
	if turn, err := r.table.Resume(r.t.Context(), o, id, round, []byte(all), answers{}.of, nil); err != hold.ErrLost { //nolint:errorlint // it is what is documented
		r.t.Errorf("resumed: %+v, %v", turn, err)
	}
}

// at checks the time that has passed.
func (r *rig) at(want time.Duration) {
	r.t.Helper()
	if got := time.Since(r.start); got != want {
		r.t.Errorf("at %v, want %v", got, want)
	}
}

// asked renders the questions of a turn.
func asked(turn hold.Turn) string {
	var list []string
	for _, q := range turn.Questions {
		list = append(list, q.Key+" "+q.Method+" "+string(q.Params))
	}
	return fmt.Sprintf("%d: %s", turn.Round, strings.Join(list, ", "))
}

// elicit asks for text.
func elicit(ctx context.Context, out exchange.Stream, text string) string {
	reply := out.Ask(ctx, wire.MethodElicit, []byte(`{"message":"`+text+`"}`))
	return string(reply.Result) + string(reply.Error)
}

// askAfter makes a Call that asks for a, b, c, … at the times after its begin that
// are given, and replies with all answers in that order.
func askAfter(times ...time.Duration) hold.Call {
	return func(ctx context.Context, out exchange.Stream) exchange.Reply {
		got := make([]string, len(times))
		var all sync.WaitGroup
		for i, d := range times {
			all.Go(func() {
				time.Sleep(d)
				got[i] = elicit(ctx, out, string(rune('a'+i)))
			})
		}
		all.Wait()
		return text(strings.Join(got, " "))
	}
}

func text(s string) exchange.Reply { return exchange.Reply{Result: []byte(s)} }

// message returns the message of a raw error.
func message(failure string) string {
	s, _ := wire.Unquote(wire.Get([]byte(failure), "message"))
	return s
}

// notes collects notifications.
type notes struct {
	mu   sync.Mutex // guards list
	list []string
}

func (n *notes) Notify(method string, params []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, method+string(params))
}

func (n *notes) Ask(context.Context, string, []byte) exchange.Reply {
	panic("a modern client is asked by the answer to its request")
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, " ")
}
