package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

const withTasks = `{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// taskTeller is a modern server that agrees to tell of the tasks that agree is
// true for, and refuses a listen with a task that refuse is true for.
func taskTeller(agree, refuse func(id string) bool) *world {
	return &world{script: always(act{opened: modernOpened(withTasks), handle: func(c *fakeConn, call *exchange.Call) bool {
		if call.Method != wire.MethodListen {
			return false
		}
		ids := wire.Get(wire.Get(call.Params.Raw, "notifications"), "taskIds")
		var agreed []string
		for at := range wire.Elements(ids) {
			id, _ := wire.Unquote(at.Of(ids))
			if refuse != nil && refuse(id) {
				c.failure(call.ID, wire.CodeInvalidParams, "no such task")
				return true
			}
			if agree(id) {
				agreed = append(agreed, wire.Quote(id))
			}
		}
		c.emit(&exchange.Notification{Related: call.ID, Method: wire.NoteAcknowledged,
			Params: []byte(`{"notifications":{"taskIds":[` + strings.Join(agreed, ",") + `]}}`)})
		return true
	}})}
}

func startsWith(prefix string) func(string) bool {
	return func(id string) bool { return strings.HasPrefix(id, prefix) }
}

func subscribeTask(t *testing.T, r *rig, id string) bool {
	t.Helper()
	agreed, err := r.SubscribeTask(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return agreed
}

// lastListen returns the filter of the last listen, and what it declares.
func lastListen(c *fakeConn) (filter, capabilities string) {
	calls := callsTo(c, wire.MethodListen)
	last := calls[len(calls)-1]
	return string(wire.Get(last.Params.Raw, "notifications")), string(last.Client.Capabilities)
}

func TestTasksShareTheListen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), taskTeller(startsWith("good"), nil))
		c := r.world.conn(0)
		if filter, capabilities := lastListen(c); filter != `{"toolsListChanged":true}` || capabilities != `{}` {
			t.Errorf("without tasks it listens to %s and declares %s", filter, capabilities)
		}
		for range 2 {
			if !subscribeTask(t, r, "good1") {
				t.Error("the server agreed, and nobody is told")
			}
		}
		if filter, capabilities := lastListen(c); filter != `{"toolsListChanged":true,"taskIds":["good1"]}` || capabilities != `{"extensions":{"io.modelcontextprotocol/tasks":{}}}` {
			t.Errorf("it listens to %s and declares %s", filter, capabilities)
		}
		listens := len(callsTo(c, wire.MethodListen))
		r.UnsubscribeTask("good1")
		r.UnsubscribeTask("never")
		wait(time.Second)
		if n := len(callsTo(c, wire.MethodListen)); n != listens {
			t.Errorf("it was asked %d times more while one subscriber is left", n-listens)
		}
		if subscribeTask(t, r, "bad") {
			t.Error("the server did not agree, and it is said that it did")
		}
		c.die()
		wait(time.Second)
		if filter, _ := lastListen(r.world.conn(1)); filter != `{"toolsListChanged":true,"taskIds":["good1"]}` {
			t.Errorf("a new connection listens to %s", filter)
		}
		r.UnsubscribeTask("good1")
		wait(time.Second)
		if filter, _ := lastListen(r.world.conn(1)); filter != `{"toolsListChanged":true}` {
			t.Errorf("it still listens to %s", filter)
		}
	})
}

// A server that refuses a listen for a task it does not know must not keep us
// from hearing of everything else.
func TestATaskThatIsRefusedSpoilsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), taskTeller(startsWith("good"), startsWith("bad")))
		if !subscribeTask(t, r, "good") {
			t.Fatal("the server agreed")
		}
		if subscribeTask(t, r, "bad") {
			t.Error("a refusal counts as agreement")
		}
		wait(10 * time.Second)
		if filter, _ := lastListen(r.world.conn(0)); filter != `{"toolsListChanged":true,"taskIds":["good"]}` {
			t.Errorf("it listens to %s", filter)
		}
	})
}

func TestWhoIsNotAskedOfTasks(t *testing.T) {
	for what, c := range map[string]struct {
		spec   durward.Server
		opened *exchange.Opened
	}{
		"a server without the extension": {stdio(), modernOpened(everything)},
		"a legacy server":                {stdio(), legacyOpened(withTasks)},
		"one with other connections":     {func() durward.Server { s := stdio(); s.Instances = durward.InstancesPrincipal; return s }(), modernOpened(withTasks)},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, c.spec, &world{script: always(act{opened: c.opened})})
				if agreed, err := r.SubscribeTask(context.Background(), "x"); agreed || durward.KindOf(err) != durward.Unavailable {
					t.Errorf("%v %v", agreed, err)
				}
				synctest.Wait()
				for _, call := range callsTo(r.world.conn(0), wire.MethodListen) {
					if strings.Contains(string(call.Params.Raw), "taskIds") {
						t.Errorf("it was asked: %s", call.Params.Raw)
					}
				}
			})
		})
	}
}

func TestSubscriptionsOfTasksAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), taskTeller(startsWith(""), nil), func(o *upstream.Options) { o.Limits.Subscriptions = 3 })
		for i := range 3 {
			if !subscribeTask(t, r, fmt.Sprint(i)) {
				t.Fatal("refused below the bound")
			}
		}
		if _, err := r.SubscribeTask(context.Background(), "4"); err == nil || !contains(err.Error(), "limits.subscriptions") {
			t.Errorf("over the bound: %v", err)
		}
		if err := r.Subscribe(context.Background(), "x:1"); err == nil || !contains(err.Error(), "limits.subscriptions") {
			t.Errorf("a resource over the bound: %v", err)
		}
		if !subscribeTask(t, r, "0") {
			t.Error("one that is there already has no room")
		}
	})
}

// What a server says of a task during somebody's call need not be meant for them.
func TestTaskNotificationsGoToNoCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var id uint64
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(withTasks), handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			id = call.ID
			for _, method := range []string{wire.NoteTasks, wire.NoteTasksStatus} {
				c.emit(&exchange.Notification{Related: id, Method: method, Params: []byte(`{"taskId":"somebody's"}`)})
			}
			c.result(id, `{}`)
			return true
		}})})
		out := &stream{}
		r.Do(context.Background(), alice(), modernTool(), out)
		out.mu.Lock()
		defer out.mu.Unlock()
		if len(out.notes) != 0 {
			t.Errorf("the caller heard %v", out.notes)
		}
		r.watch.mu.Lock()
		defer r.watch.mu.Unlock()
		if len(r.watch.notes) != 2 {
			t.Errorf("the observer heard %v", r.watch.notes)
		}
	})
}

// A server that was not told that its client keeps tasks cannot ask for any: they
// could be another server's.
func TestTasksOfClientsAreTheirServersBusiness(t *testing.T) {
	for _, c := range []struct {
		instances    durward.Instances
		capabilities string
		asked        bool
	}{
		{durward.InstancesShared, `{"tasks":{"list":{}}}`, false},
		{durward.InstancesSession, `{"elicitation":{}}`, false},
		{durward.InstancesSession, `{"tasks":{"list":{}}}`, true},
	} {
		inBubble(t, func(t *testing.T) {
			spec := stdio()
			spec.Instances = c.instances
			r := start(t, spec, &world{script: always(act{opened: legacyOpened(everything), handle: func(c *fakeConn, call *exchange.Call) bool {
				if call.Method != wire.MethodToolsCall {
					return false
				}
				c.emit(&exchange.ServerRequest{ID: 7, Related: call.ID, Method: wire.MethodTasksList})
				return true
			}})})
			asked := false
			out := &stream{ask: func(context.Context, string) exchange.Reply {
				asked = true
				return exchange.Reply{Result: []byte(`{"tasks":[]}`)}
			}}
			ctx, cancel := context.WithCancel(context.Background())
			req := tool()
			req.Client.Capabilities = []byte(c.capabilities)
			done := r.going(ctx, alice(), req, out)
			synctest.Wait()
			conn := r.world.conn(-1)
			answers := sentTo[*exchange.Response](conn)
			if asked != c.asked || len(answers) != 1 || (answers[0].Error == nil) != c.asked {
				t.Errorf("%s %s: asked %v, answered %+v", c.instances, c.capabilities, asked, answers)
			}
			cancel()
			<-done
		})
	}
}

// A refusal is remembered while somebody wants to hear of the task, so that one
// client cannot have everybody's listen refused again and again.
func TestARefusedTaskIsNotAskedForAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var refuse atomic.Bool
		r := start(t, stdio(), taskTeller(startsWith(""), func(id string) bool { return refuse.Load() && id == "good" }))
		subscribeTask(t, r, "a")
		if !subscribeTask(t, r, "good") {
			t.Fatal("the server agreed")
		}
		refuse.Store(true) // it has forgotten the task
		subscribeTask(t, r, "b")
		wait(10 * time.Second)
		if filter, _ := lastListen(r.world.conn(0)); strings.Contains(filter, `"good"`) {
			t.Errorf("it listens to %s", filter)
		}
		listens := len(callsTo(r.world.conn(0), wire.MethodListen))
		if _, err := r.SubscribeTask(context.Background(), "good"); durward.KindOf(err) != durward.Unavailable {
			t.Errorf("asked once more: %v", err)
		}
		wait(10 * time.Second)
		if n := len(callsTo(r.world.conn(0), wire.MethodListen)); n != listens {
			t.Errorf("%d more listens", n-listens)
		}
		r.UnsubscribeTask("good") // nobody wants it any more: the next may ask
		refuse.Store(false)
		if !subscribeTask(t, r, "good") {
			t.Error("it is refused for ever")
		}
	})
}

// tasks/result waits for a tool, and is not cut off like a question of a moment.
func TestTheResultOfATaskMayTakeItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Timeout = time.Second
		r := start(t, spec, &world{script: always(act{opened: legacyOpened(everything), handle: func(_ *fakeConn, call *exchange.Call) bool {
			return strings.HasPrefix(call.Method, "tasks/")
		}})})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		request := func(method string) *exchange.Request {
			return &exchange.Request{Method: method, Client: exchange.Client{Era: wire.Legacy}}
		}
		result := r.going(ctx, alice(), request(wire.MethodTasksResult), &stream{})
		get := r.going(ctx, alice(), request(wire.MethodTasksGet), &stream{})
		wait(5 * time.Second)
		select {
		case reply := <-get:
			if code, _ := wire.ErrorCode(reply.Error); code != wire.CodeTimeout {
				t.Errorf("tasks/get: %s", reply.Error)
			}
		default:
			t.Error("tasks/get waits for ever")
		}
		select {
		case reply := <-result:
			t.Errorf("tasks/result: %s", reply.Error)
		default:
		}
		cancel()
		<-result
	})
}
