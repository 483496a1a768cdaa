package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/federation"
	"durward/internal/wire"
)

// followed are the tasks that one subscriptions/listen wants to hear of (tasks
// extension, "Task Status Notifications").
//
// A notification holds all that tasks/get would have answered, the result
// included, so policy has to see it first. That may take its time, and who brings
// the notification must not wait: it is put down, and told by the goroutine that
// serves the listen. Of a task only the latest news are kept, which are whole.
type followed struct {
	g     *Gateway
	tasks []*followedTask
	ready chan struct{} // one slot: there is news

	mu   sync.Mutex // guards news, and what the tasks have of it
	news []*followedTask
}

// followedTask is one task, and the feed of its subscription.
type followedTask struct {
	of     *followed
	call   durward.Call // that would ask for it
	token  []byte       // the sealed id, raw as the client sent it
	sub    *federation.Subscription
	latest []byte // nil when it was told
}

// followTasks subscribes to the tasks of a listen's filter; beside says how many
// resources it subscribes to. Tasks that the caller may not ask for, and those
// whose server does not tell of them, are left out.
func (g *Gateway) followTasks(ctx context.Context, p *passage, list []byte, beside int) (*followed, error) {
	f := &followed{g: g, ready: make(chan struct{}, 1)}
	if list == nil || string(list) == "null" {
		return f, nil
	}
	if !declares(p.in.Client.Capabilities, "task") {
		return nil, missingExtension(wire.ExtensionTasks)
	}
	view, err := g.view(p)
	if err != nil {
		return nil, err
	}
	seen := map[taskKey]bool{}
	for at := range wire.Elements(list) {
		if beside+len(f.tasks) == g.subscriptions {
			return nil, invalidParams("more than " + strconv.Itoa(g.subscriptions) + " taskIds and resourceSubscriptions in one request (limits.session_subscriptions)")
		}
		token, ok := wire.Unquote(at.Of(list))
		if !ok {
			return nil, invalidParams("taskIds must be strings")
		}
		if t, ok := g.taskToFollow(p, view, token); ok && !seen[taskKey{t.server, string(t.id)}] {
			seen[taskKey{t.server, string(t.id)}] = true
			f.add(p, t, token, at.Of(list))
		}
	}
	f.subscribe(ctx)
	return f, nil
}

func (g *Gateway) taskToFollow(p *passage, view *catalog.View, token string) (*taskRef, bool) {
	t, ok := g.openTaskID(p.in.Caller.Principal, token)
	return t, ok && t.era == wire.Modern && view.Shows(t.server)
}

func (f *followed) add(p *passage, t *taskRef, token string, raw []byte) {
	task := &followedTask{of: f, token: raw, call: p.call}
	task.call.Method, task.call.Params, task.call.Server, task.call.FullName = wire.MethodTasksGet, nil, t.server, token
	task.call.Name, _ = wire.Unquote(t.id)
	f.tasks = append(f.tasks, task)
}

// subscribe has the servers tell of the tasks, and forgets those they do not tell
// of. All are asked at the same time, because each has to be waited for.
func (f *followed) subscribe(ctx context.Context) {
	var all sync.WaitGroup
	for _, task := range f.tasks {
		all.Go(func() {
			task.sub, _ = f.g.set.SubscribeTask(ctx, task.call.Server, task.call.Name, task.call.FullName, task) // what is not told of is left out
		})
	}
	all.Wait()
	f.tasks = slices.DeleteFunc(f.tasks, func(task *followedTask) bool { return task.sub == nil })
}

// honoured returns the ids of the tasks that will be told of, as the client wrote them.
func (f *followed) honoured() [][]byte {
	ids := make([][]byte, len(f.tasks))
	for i, task := range f.tasks {
		ids[i] = task.token
	}
	return ids
}

func (f *followed) close() {
	for _, task := range f.tasks {
		task.sub.Close()
	}
}

// Notify takes news of the task. It implements exchange.Feed.
func (task *followedTask) Notify(_ string, params []byte) {
	f := task.of
	f.mu.Lock()
	if task.latest == nil {
		f.news = append(f.news, task)
	}
	task.latest = params
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// tell passes on what is new and what policy lets the caller see.
func (f *followed) tell(ctx context.Context, feed exchange.Feed) {
	for {
		task, params := f.take()
		if task == nil {
			return
		}
		d := f.g.judge(ctx, &task.call, params)
		if d.Changed != nil {
			params = d.Changed
		}
		if d.Action == durward.Allow {
			feed.Notify(wire.NoteTasks, params)
		}
	}
}

// take returns the oldest news, nil when there are none.
func (f *followed) take() (*followedTask, []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.news) == 0 {
		return nil, nil
	}
	task := f.news[0]
	f.news = f.news[1:]
	params := task.latest
	task.latest = nil
	return task, params
}
