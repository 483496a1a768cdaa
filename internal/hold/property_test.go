package hold_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/hold"
	"durward/internal/wire"

	"pgregory.net/rapid"
)

// The property test draws what servers and clients do, lets all of it happen in a
// bubble of synthetic time, and holds what each of them saw against a model: a
// list of what every question was asked and answered with, and when.

const (
	life = 10 * time.Second
	most = 2
)

// world is the model, and the list of what contradicts it.
type world struct {
	table *hold.Table
	start time.Time

	mu       sync.Mutex // guards everything below
	asks     map[string]*asked1
	held     map[string]heldSpan
	problems []string
}

// asked1 is what is known of one question, by its token.
type asked1 struct {
	call     int
	returned time.Duration   // -1: not yet
	given    map[string]bool // answers that a retry brought in time for it, or might have
}

// heldSpan is for how long a call is held at most, as far as its client knows.
type heldSpan struct {
	owner       int
	from, until time.Duration
}

func (w *world) now() time.Duration { return time.Since(w.start) }

func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf("%v: ", w.now())+fmt.Sprintf(format, args...))
}

func ownerOf(i int) hold.Owner {
	return []hold.Owner{{Principal: "a", Server: "s"}, {Principal: "b", Server: "s"}, {Principal: "a", Server: "t"}}[i]
}

// serve is the server of call i.
func (w *world) serve(i int, plan *callPlan) hold.Call {
	return func(ctx context.Context, out exchange.Stream) exchange.Reply {
		var outcomes []string
		for s, step := range plan.Steps {
			time.Sleep(step.Pause)
			got := make([]string, len(step.Asks))
			var group sync.WaitGroup
			for a, ask := range step.Asks {
				group.Go(func() { got[a] = w.ask(ctx, out, i, fmt.Sprintf("c%d-s%d-a%d", i, s, a), ask) })
			}
			group.Wait()
			outcomes = append(outcomes, got...)
		}
		if ctx.Err() != nil {
			time.Sleep(plan.Deaf)
		}
		return text(fmt.Sprintf("c%d %s", i, strings.Join(outcomes, " ")))
	}
}

// ask asks one question, which carries its token, and returns what came of it:
// "answered", "withdrawn", "refused", or else the error.
func (w *world) ask(ctx context.Context, out exchange.Stream, call int, token string, plan askPlan) string {
	time.Sleep(plan.After)
	ctx = context.WithoutCancel(ctx) // the upstream withdraws of its own accord only
	if plan.Withdraw > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, plan.Withdraw)
		defer cancel()
	}
	asked := &asked1{call: call, returned: -1, given: map[string]bool{}}
	w.mu.Lock()
	w.asks[token] = asked
	w.mu.Unlock()
	out.Notify(wire.NoteProgress, []byte(token))
	reply := out.Ask(ctx, plan.Method, []byte(`{"token":"`+token+`"}`))
	w.mu.Lock()
	defer w.mu.Unlock()
	asked.returned = w.now()
	if reply.Error == nil {
		if !asked.given[string(reply.Result)] {
			w.problems = append(w.problems, fmt.Sprintf("%s was answered with %s", token, reply.Result))
		}
		return "answered"
	}
	code, _ := wire.ErrorCode(reply.Error)
	switch said := message(string(reply.Error)); {
	case code == wire.CodeMethodNotFound, strings.Contains(said, "did not declare"):
		return "refused"
	case strings.Contains(said, "withdrawn") && plan.Withdraw > 0:
		return "withdrawn"
	default:
		return said
	}
}

// client is the one who calls.
type client struct {
	*world
	i     int
	plan  *callPlan
	id    string
	round int
	keys  map[string]string // key to token, over the whole call
}

// Notify implements exchange.Stream of the client's requests.
func (c *client) Notify(_ string, params []byte) {
	if !strings.HasPrefix(string(params), fmt.Sprintf("c%d-", c.i)) {
		c.wrong("call %d is notified of %s", c.i, params)
	}
}

// Ask implements exchange.Stream.
func (c *client) Ask(context.Context, string, []byte) exchange.Reply { panic("asked") }

// run plays a client to its end. It returns the final reply, "" if it got none.
func (c *client) run() string {
	time.Sleep(c.plan.Start)
	ctx, cancel := c.leaving(c.plan.Leave)
	turn, err := c.table.Begin(ctx, ownerOf(c.plan.Owner), []byte(c.plan.Capabilities), c, c.serve(c.i, c.plan))
	cancel()
	turns := c.plan.Turns
	for ; err == nil && turn.Questions != nil; turns = turns[min(1, len(turns)):] {
		c.check(turn)
		if len(turns) == 0 && c.plan.Quit {
			return ""
		}
		next := turnPlan{Answer: 15}
		if len(turns) > 0 {
			next = turns[0]
		}
		turn, err = c.retry(turn, next)
	}
	c.over()
	if err != nil {
		return ""
	}
	return string(turn.Reply.Result)
}

func (c *client) leaving(after time.Duration) (context.Context, context.CancelFunc) {
	if after == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), after)
}

// over notes that the client knows that its call is not held any more.
func (c *client) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, ok := c.held[c.id]; ok {
		h.until = min(h.until, c.now())
		c.held[c.id] = h
	}
}

// check holds a turn with questions against the model.
func (c *client) check(turn hold.Turn) {
	if turn.Round != c.round+1 || c.id != "" && turn.ID != c.id || turn.Reply.Result != nil || turn.Reply.Error != nil {
		c.wrong("call %d: after round %d of %q came %+v", c.i, c.round, c.id, turn)
	}
	c.id, c.round = turn.ID, turn.Round
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.now()
	if h, ok := c.held[c.id]; ok {
		from = h.from
	}
	c.held[c.id] = heldSpan{c.plan.Owner, from, c.now() + life}
	seen := map[string]bool{}
	for _, q := range turn.Questions {
		token, _ := wire.Unquote(wire.Get(q.Params, "token"))
		asked := c.asks[token]
		known, again := c.keys[q.Key]
		switch {
		case asked == nil || asked.call != c.i:
			c.problems = append(c.problems, fmt.Sprintf("call %d is asked %s", c.i, q.Params))
		case asked.returned >= 0 && asked.returned < c.now():
			c.problems = append(c.problems, fmt.Sprintf("call %d is asked %s, which is settled", c.i, q.Params))
		case again && known != token || seen[q.Key]:
			c.problems = append(c.problems, fmt.Sprintf("%s is %s and %s", q.Key, known, token))
		}
		seen[q.Key] = true
		c.keys[q.Key] = token
	}
}

// retry does with a turn what is planned.
func (c *client) retry(turn hold.Turn, plan turnPlan) (hold.Turn, error) {
	time.Sleep(plan.Think)
	if plan.Intrude {
		c.intrude(turn)
	}
	given := answers{"q1000": `{"unknown":true}`}
	for i, q := range turn.Questions {
		if plan.Junk {
			given[q.Key] = `"junk"`
		}
		if plan.Answer&(1<<(i%4)) != 0 {
			given[q.Key] = fmt.Sprintf(`{"token":%q,"round":%d}`, c.keys[q.Key], turn.Round)
			c.mu.Lock()
			c.asks[c.keys[q.Key]].given[given[q.Key]] = true
			c.mu.Unlock()
		}
	}
	if !plan.Twice {
		return c.resume(turn, given, plan.Leave)
	}
	type result struct {
		turn hold.Turn
		err  error
	}
	results := make(chan result, 2)
	for range 2 {
		go func() {
			next, err := c.resume(turn, given, plan.Leave)
			results <- result{next, err}
		}()
	}
	first := <-results
	if !errors.Is(first.err, hold.ErrLost) { // the one that is lost is told before the other one can have an end
		second := <-results
		if !errors.Is(second.err, hold.ErrLost) {
			c.wrong("both retries of round %d went through: %+v %v, %+v %v", turn.Round, first.turn, first.err, second.turn, second.err)
		}
		return first.turn, first.err
	}
	second := <-results
	return second.turn, second.err
}

func (c *client) resume(turn hold.Turn, given answers, leave time.Duration) (hold.Turn, error) {
	ctx, cancel := c.leaving(leave)
	defer cancel()
	return c.table.Resume(ctx, ownerOf(c.plan.Owner), turn.ID, turn.Round, []byte(c.plan.Capabilities), given.of, c)
}

// intrude tries to resume what it must not.
func (c *client) intrude(turn hold.Turn) {
	for _, try := range []struct {
		owner, round int
		id           string
	}{{c.plan.Owner + 1, turn.Round, turn.ID}, {c.plan.Owner + 2, turn.Round, turn.ID}, {c.plan.Owner, turn.Round - 1, turn.ID}, {c.plan.Owner, turn.Round + 1, turn.ID}, {c.plan.Owner, turn.Round, turn.ID + "x"}} {
		got, err := c.table.Resume(context.Background(), ownerOf(try.owner%3), try.id, try.round, []byte(all), func(key string) []byte {
			c.wrong("an intruder is asked for %s", key)
			return nil
		}, c)
		if !errors.Is(err, hold.ErrLost) {
			c.wrong("an intruder got %+v, %v", got, err)
		}
	}
}

// expect checks the final reply of a call. Free says that its owner never had more calls than may be held.
func (w *world) expect(i int, plan *callPlan, got string, free bool) {
	if !plan.diligent() {
		return
	}
	words := strings.Fields(strings.ReplaceAll(got, "2 calls of this client wait for input, which is the bound limits.holds; answer or cancel one first", "full"))
	var asks []askPlan
	for _, step := range plan.Steps {
		asks = append(asks, step.Asks...)
	}
	if len(words) != 1+len(asks) || words[0] != fmt.Sprintf("c%d", i) {
		w.wrong("call %d ended with %q", i, got)
		return
	}
	for a, ask := range asks {
		var may []string
		switch {
		case exchange.Missing([]byte(plan.Capabilities), ask.Method, []byte(`{}`)) != "":
			may = []string{"refused", "withdrawn"}
		case ask.Withdraw > 0:
			may = []string{"answered", "withdrawn"}
		default:
			may = []string{"answered"}
		}
		if !free && may[0] != "refused" {
			may = append(may, "full")
		}
		if !slices.Contains(may, words[1+a]) {
			w.wrong("question %d of call %d ended with %q, not one of %q", a, i, words[1+a], may)
		}
	}
}

// bounds checks that no owner ever had more calls held than may be.
func (w *world) bounds() {
	spans := slices.Collect(maps.Values(w.held))
	for _, at := range spans { // the number grows where a span begins
		n := 0
		for _, s := range spans {
			if s.owner == at.owner && s.from <= at.from && at.from < s.until {
				n++
			}
		}
		if n > most {
			w.problems = append(w.problems, fmt.Sprintf("owner %d had %d calls held at %v", at.owner, n, at.from))
		}
	}
}

func TestB9_HoldsKeepWhatBelongsTogether(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plans := drawPlans(rt)
		shut := rapid.SampledFrom([]time.Duration{0, 0, 0, 15 * ms, time.Second, life}).Draw(rt, "shut")
		var w *world
		synctest.Test(t, func(*testing.T) { w = play(plans, shut) })
		if len(w.problems) > 0 {
			rt.Fatalf("%s", strings.Join(w.problems, "\n"))
		}
	})
}

// play lets everything happen. With shut the table is closed that much later.
func play(plans []callPlan, shut time.Duration) *world {
	w := &world{table: hold.New(hold.Options{Most: most, Life: life}), start: time.Now(), asks: map[string]*asked1{}, held: map[string]heldSpan{}}
	replies := make([]string, len(plans))
	owned := map[int]int{}
	var clients sync.WaitGroup
	for i := range plans {
		owned[plans[i].Owner]++
		c := &client{world: w, i: i, plan: &plans[i], keys: map[string]string{}}
		clients.Go(func() { replies[i] = c.run() })
	}
	if shut > 0 {
		time.Sleep(shut)
		_ = w.table.Close()
	}
	clients.Wait()
	if shut == 0 {
		w.idle(plans)
		for i := range plans {
			w.expect(i, &plans[i], replies[i], owned[plans[i].Owner] <= most)
		}
		w.bounds()
	}
	_ = w.table.Close()
	for token, asked := range w.asks {
		if asked.returned < 0 {
			w.wrong("%s was never settled", token)
		}
	}
	if n := w.table.Len(); n != 0 {
		w.wrong("%d calls are held by a closed table", n)
	}
	return w
}

// idle waits until everything must be over, and checks that all owners are as free as at first.
func (w *world) idle(plans []callPlan) {
	time.Sleep(time.Minute)
	synctest.Wait()
	if n := w.table.Len(); n != 0 {
		w.wrong("%d calls are held when nobody calls", n)
	}
	for i := range 3 {
		for range most {
			turn, err := w.table.Begin(context.Background(), ownerOf(i), []byte(all), nil, askAfter(0))
			if err != nil || turn.Questions == nil {
				w.wrong("owner %d has no room after all is over: %+v, %v; %d calls", i, turn, err, len(plans))
			}
		}
	}
}
